import * as v from 'valibot'

const id = v.pipe(v.string(), v.nonEmpty(), v.maxLength(64))
const bytes = v.custom<Uint8Array>(value => value instanceof Uint8Array)
const count = v.pipe(v.number(), v.integer(), v.minValue(0))
/** Unix milliseconds. */
const instantMs = count

const limits = v.object({
  requestsPerSecondMax: count,
  requestsBurstMax: count,
  requestsInFlightMax: count,
  socketsMax: count,
  subscriptionsPerSocketMax: count,
})

const meta = v.object({
  /** Layout of the tables; another number is refused at open. */
  schema: count,
  /** Fingerprint of the sealing key; null until the first token is sealed. */
  sealingKeyId: v.nullable(v.string()),
})

const access = v.object({
  accessId: id,
  /** Who holds it, as the identity provider names them (`sub`). */
  subject: v.string(),
  kind: v.picklist(['pass', 'rental']),
  product: v.string(),
  networks: v.array(id),
  locations: v.array(id),
  limits,
  createdAtMs: instantMs,
  /** Inclusive. */
  validFromMs: instantMs,
  /** Exclusive; null is without end. */
  validUntilMs: v.nullable(instantMs),
  /** When it was ended by hand, before its time; null where it was not. */
  endedAtMs: v.nullable(instantMs),
})

/** A row says that it is there: its key has the rest. */
const mark = v.object({})

const token = v.object({
  tokenId: id,
  digest: bytes,
  /** The token under AES-256-GCM: nonce, ciphertext, tag. */
  sealed: bytes,
  /** The token's last characters, for the masked view. */
  tail: v.string(),
  createdAtMs: instantMs,
  /** The one IPv4 address that may use it; null where any may. */
  address: v.nullable(v.string()),
})

const digest = v.object({
  tokenId: id,
  accessId: id,
  network: id,
  location: id,
  address: v.nullable(v.string()),
})

const session = v.object({
  /** As the identity provider names the person (`sub`). */
  subject: v.string(),
  email: v.string(),
  name: v.string(),
  createdAtMs: instantMs,
  /** Last use, as written down from time to time. */
  seenAtMs: instantMs,
})

/** A person's right to use the service: a pass they own or a rental they pay for. */
export type Access = Readonly<v.InferOutput<typeof access>>
/** What is kept of a location token beside what authenticates it. */
export type TokenRecord = Readonly<v.InferOutput<typeof token>>
/** What an edge learns from a token's digest in one look-up. */
export type DigestRecord = Readonly<v.InferOutput<typeof digest>>
/** Somebody who is signed in at the dashboard. */
export type SessionRecord = Readonly<v.InferOutput<typeof session>>
export type Meta = Readonly<v.InferOutput<typeof meta>>

/**
 * (access, network, location): has one token or none, which the key of `tokens` makes
 * so by itself.
 */
export type TokenScope = {
  readonly accessId: string
  readonly network: string
  readonly location: string
}
/** Finds the accesses of one person without looking at those of all others. */
export type SubjectKey = [subject: string, accessId: string]
export type TokenKey = [accessId: string, network: string, location: string]

export const tokenKey = (scope: TokenScope): TokenKey => [
  scope.accessId,
  scope.network,
  scope.location,
]

/** How a key is written: `ordered-binary` sorts as its strings do, part by part. */
export type KeyEncoding = 'ordered-binary' | 'binary'

/**
 * Layout of all tables together. Raise it with any change of a row below that an older build cannot
 * read.
 */
export const SCHEMA = 1

/**
 * Every table of `<data-dir>/access/`. Values are msgpack maps, checked against `value` when they
 * are read.
 */
// prettier-ignore
export const TABLES = {
  meta:     { name: 'meta',     key: 'ordered-binary', value: meta,   meaning: 'key `store` → layout and sealing key of this store' },
  accesses: { name: 'accesses', key: 'ordered-binary', value: access, meaning: 'access id → pass or rental' },
  subjects: { name: 'subjects', key: 'ordered-binary', value: mark,   meaning: 'subject, access id → nothing: the accesses of a person' },
  tokens:   { name: 'tokens',   key: 'ordered-binary', value: token,  meaning: 'access id, network, location → the one token of that scope' },
  digests:  { name: 'digests',  key: 'binary',         value: digest, meaning: 'SHA-256 of a token → where it opens what; absent means 401' },
  sessions: { name: 'sessions', key: 'binary',         value: session, meaning: 'SHA-256 of a session id → who is signed in' },
} as const satisfies Record<string, TableRow>

/** One table: keys of one encoding, values of one shape. */
export type TableRow = {
  readonly name: string
  readonly key: KeyEncoding
  readonly value: v.GenericSchema
  readonly meaning: string
}

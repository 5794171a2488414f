import * as v from 'valibot'
import { mapLimits } from '../../shared/access-limits.js'

const id = v.pipe(v.string(), v.nonEmpty(), v.maxLength(64))
const bytes = v.custom<Uint8Array>(value => value instanceof Uint8Array)
const count = v.pipe(v.number(), v.integer(), v.minValue(0))
/** Unix milliseconds. */
const instantMs = count

const limits = v.object(mapLimits(() => count))

const meta = v.object({
  /** Layout of the tables; a store with another layout is refused at open. */
  schema: count,
  /** Fingerprint of the sealing key; null until the first token is sealed. */
  sealingKeyId: v.nullable(v.string()),
})

const access = v.object({
  accessId: id,
  /** The holder: the `sub` claim of the identity provider. */
  subject: v.string(),
  kind: v.picklist(['pass', 'rental']),
  product: v.string(),
  networks: v.array(id),
  locations: v.array(id),
  limits,
  createdAtMs: instantMs,
  /** Inclusive. */
  validFromMs: instantMs,
  /** Exclusive; null is no end. */
  validUntilMs: v.nullable(instantMs),
  /** When it was ended manually; null if it was not. */
  endedAtMs: v.nullable(instantMs),
})

/** An empty value: all the information is in the key. */
const mark = v.object({})

const token = v.object({
  tokenId: id,
  digest: bytes,
  /** The token under AES-256-GCM: nonce, ciphertext, tag. */
  sealed: bytes,
  /** The token's last characters, for the masked view. */
  tail: v.string(),
  createdAtMs: instantMs,
  /** The only IPv4 address that may use it; null for any address. */
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
  /** The `sub` claim of the identity provider. */
  subject: v.string(),
  email: v.string(),
  name: v.string(),
  createdAtMs: instantMs,
  /** Last use, stored at intervals. */
  seenAtMs: instantMs,
})

/** The right of a person to use the service: a pass they own or a rental they pay for. */
export type Access = Readonly<v.InferOutput<typeof access>>
/** A location token, without the row that authenticates it. */
export type TokenRecord = Readonly<v.InferOutput<typeof token>>
/** A session of the dashboard. */
export type SessionRecord = Readonly<v.InferOutput<typeof session>>

/** What a token is for. Each scope has one token or none, because it is the key of `tokens`. */
export type TokenScope = {
  readonly accessId: string
  readonly network: string
  readonly location: string
}
/** Key of the index of accesses by subject. */
export type SubjectKey = [subject: string, accessId: string]
export type TokenKey = [accessId: string, network: string, location: string]

export const tokenKey = (scope: TokenScope): TokenKey => [
  scope.accessId,
  scope.network,
  scope.location,
]

/** Encoding of keys: `ordered-binary` sorts by their parts, like strings. */
export type KeyEncoding = 'ordered-binary' | 'binary'

/** Layout of all tables. Increment it with any change below that an older build cannot read. */
export const SCHEMA = 1

/**
 * All tables of `<data-dir>/access/`. Values are msgpack maps, validated against `value` when they
 * are read.
 */
// prettier-ignore
export const TABLES = {
  meta:     { name: 'meta',     key: 'ordered-binary', value: meta,   meaning: 'key `store` → layout and sealing key of this store' },
  accesses: { name: 'accesses', key: 'ordered-binary', value: access, meaning: 'access id → pass or rental' },
  subjects: { name: 'subjects', key: 'ordered-binary', value: mark,   meaning: 'index of accesses by subject: subject, access id → empty' },
  tokens:   { name: 'tokens',   key: 'ordered-binary', value: token,  meaning: 'access id, network, location → the token of this scope' },
  digests:  { name: 'digests',  key: 'binary',         value: digest, meaning: 'SHA-256 of a token → its scope and address; absent means 401' },
  sessions: { name: 'sessions', key: 'binary',         value: session, meaning: 'SHA-256 of a session id → the session' },
} as const satisfies Record<string, TableRow>

/** Declaration of a table. */
export type TableRow = {
  readonly name: string
  readonly key: KeyEncoding
  readonly value: v.GenericSchema
  readonly meaning: string
}

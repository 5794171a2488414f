import type { TokenScope } from '../../usage/scope.js'
import * as v from 'valibot'
import { mapLimits } from '../../shared/access-limits.js'
import { apiKey } from './key-shape.js'
import { member } from './member-shape.js'
import type { TableRow } from './table.js'
import { alertRule, webhook } from './webhook-shape.js'

const id = v.pipe(v.string(), v.nonEmpty(), v.maxLength(64))
const bytes = v.custom<Uint8Array>(value => value instanceof Uint8Array)
const count = v.pipe(v.number(), v.integer(), v.minValue(0))
/** Unix milliseconds. */
const instantMs = count

const limits = v.object(mapLimits(() => count))

const meta = v.object({
  /** Layout of the tables; a store with another layout is refused at open. */
  schema: count,
  /** Of the last change that the store contains; 0 before the first. */
  revision: count,
  /** Of the cluster whose log the store follows; absent on a machine by itself. */
  cluster: v.optional(
    v.object({
      /** Random id of the cluster. */
      epoch: id,
      /** Random id of this store. */
      instance: id,
      /** Revision of the last proof that the store was current; 0 before the first. */
      lastBeat: count,
      /** Revision at which the machine was added as which it joined; 0 before it has joined. */
      added: count,
      /** Where the data directory was when it joined: a copy of it is somewhere else. */
      place: v.string(),
    }),
  ),
})

const token = v.object({
  network: id,
  location: id,
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

const formerToken = v.object({
  network: id,
  location: id,
  digest: bytes,
  tail: v.string(),
  /** When it was regenerated or revoked; until then it works beside the token of its scope. */
  endedAtMs: instantMs,
  /** Of one that works until it ends; absent of others. */
  tokenId: v.optional(id),
})

/** Everything about one access, so that every change of it is one write. */
const document = v.object({
  accessId: id,
  /** The holder: the `sub` claim of the identity provider. */
  subject: v.string(),
  kind: v.picklist(['pass', 'rental']),
  product: v.string(),
  /** The operator's name for it; empty if it has none, as in a store of an older build. */
  label: v.optional(v.string(), ''),
  /** The holder's name for it; absent if it has none. */
  holderLabel: v.optional(v.string()),
  /** Until when parameters of failed calls are kept, as the holder chose; absent: they are not. */
  paramsUntilMs: v.optional(instantMs),
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
  /** By network and location: a scope has one token or none. */
  tokens: v.pipe(v.array(token), v.readonly()),
  /** Tokens that it had, the newest first; empty in a store of an older build. */
  formerTokens: v.optional(v.pipe(v.array(formerToken), v.readonly()), []),
  /** Only in a store of an older build, which had one. */
  webhook: v.optional(webhook),
  /** Keys for the API of the dashboard, the newest last; absent if it never had one. */
  apiKeys: v.optional(v.pipe(v.array(apiKey), v.readonly())),
  /** Who else may use the dashboard for it, the newest last; absent if it never had one. */
  members: v.optional(v.pipe(v.array(member), v.readonly())),
  /** In the order in which the holder added them; absent in a store of an older build. */
  webhooks: v.optional(v.pipe(v.array(webhook), v.readonly())),
  /** Absent: those of every access. */
  alertRules: v.optional(v.pipe(v.array(alertRule), v.readonly())),
  /** Of the change that made this document, which knows it again by it. */
  changeId: id,
  /** Of this change, among all changes of all accesses. */
  revision: count,
})

const access = v.pipe(
  document,
  v.transform(({ webhook: only, webhooks, ...rest }) => ({
    ...rest,
    webhooks: webhooks ?? (only === undefined ? [] : [only]),
  })),
)

/** An empty value: all the information is in the key. */
const mark = v.object({})

const digest = v.object({
  accessId: id,
  network: id,
  location: id,
  /** Of a token that the scope has no more. */
  former: v.optional(v.object({ tail: v.string(), endedAtMs: instantMs })),
})

const keyOwner = v.object({ accessId: id, keyId: id })

/** The right of a person to use the service: a pass they own or a rental they pay for. */
export type Access = Omit<
  StoredAccess,
  'tokens' | 'formerTokens' | 'webhooks' | 'apiKeys' | 'changeId' | 'revision'
>
/** A location token as an access contains it. */
export type TokenRecord = Readonly<v.InferOutput<typeof token>>
/** A token that was regenerated or revoked. */
export type FormerToken = Readonly<v.InferOutput<typeof formerToken>>
/** An access with its tokens: what one change replaces. */
export type AccessDocument = Omit<StoredAccess, 'changeId' | 'revision'>
/** An access as it is stored. */
export type StoredAccess = Readonly<v.InferOutput<typeof access>>

/** What a store knows of its cluster. */
export type ClusterState = NonNullable<v.InferOutput<typeof meta>['cluster']>

export type { TokenScope }

/** Key of the index of accesses by subject. */
export type SubjectKey = [subject: string, accessId: string]
/** Key of the index of accesses by the e-mail addresses of their members. */
export type MemberKey = [email: string, accessId: string]

/** The token of this network and location. */
export const findToken = (
  { tokens }: Pick<AccessDocument, 'tokens'>,
  { network, location }: Pick<TokenScope, 'network' | 'location'>,
): TokenRecord | undefined =>
  tokens.find(token => token.network === network && token.location === location)

/** Layout of all tables. Increment it with any change below that an older build cannot read. */
export const SCHEMA = 2

/**
 * All tables of `<data-dir>/access/`. Values are msgpack maps, validated against `value` when they
 * are read.
 */
// prettier-ignore
export const TABLES = {
  meta:     { name: 'meta',     key: 'ordered-binary', value: meta,     meaning: 'key `store` → layout and newest revision of this store' },
  accesses: { name: 'accesses', key: 'ordered-binary', value: access,   meaning: 'access id → pass or rental with its tokens, and the revision that wrote it' },
  subjects: { name: 'subjects', key: 'ordered-binary', value: mark,     meaning: 'index of accesses by subject: subject, access id → empty' },
  digests:  { name: 'digests',  key: 'binary',         value: digest,   meaning: 'index of tokens: SHA-256 of a token → its scope, and when it ended; absent means 401' },
  webhooks: { name: 'webhooks', key: 'ordered-binary', value: mark,     meaning: 'index of accesses with a webhook: access id → empty' },
  apiKeys:  { name: 'apiKeys',  key: 'binary',         value: keyOwner, meaning: 'index of API keys: SHA-256 of a key → its access' },
  members:  { name: 'members',  key: 'ordered-binary', value: mark,     meaning: 'index of accesses by member: e-mail address, access id → empty' },
} as const satisfies Record<string, TableRow>

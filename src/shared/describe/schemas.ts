/** A JSON schema, as documents hold it. */
export type JsonSchema = Readonly<Record<string, unknown>>

const U64_MAX = 2 ** 64
export const INTEGER: JsonSchema = { type: 'integer', minimum: 0 }
/** May be larger than the largest exact integer of a double. */
const U64: JsonSchema = { type: 'integer', minimum: 0, maximum: U64_MAX }
export const TEXT: JsonSchema = { type: 'string' }
export const SLOT: JsonSchema = { ...INTEGER }
export const FLAG: JsonSchema = { type: 'boolean' }
/** 32 bytes in base58. */
export const PUBKEY: JsonSchema = { type: 'string', pattern: '^[1-9A-HJ-NP-Za-km-z]{32,44}$' }
/** 64 bytes in base58. */
export const SIGNATURE: JsonSchema = { type: 'string', pattern: '^[1-9A-HJ-NP-Za-km-z]{64,88}$' }
/** A signed transaction of at most so many bytes, in canonical padded base64. */
export const transactionOf = (bytesMax: number): JsonSchema => ({
  type: 'string',
  contentEncoding: 'base64',
  pattern: '^([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
  maxLength: Math.ceil(bytesMax / 3) * 4,
})

export const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] })

/** Or what stands for a value that was not written after `changedSinceSlot`. */
export const orUnchanged = (schema: JsonSchema): JsonSchema => ({
  anyOf: [schema, record({ unchanged: { const: true } })],
})

/** An object in which every member must be there, but for the optional ones. */
export const record = (
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter(name => !optional.includes(name)),
})

export const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

/** A value with the slot that it is of. */
export const atSlot = (value: JsonSchema): JsonSchema =>
  record({ context: record({ slot: SLOT }), value })

const ENCODED: JsonSchema = {
  type: 'array',
  items: [TEXT, { enum: ['base64', 'base58', 'base64+zstd'] }],
  minItems: 2,
  maxItems: 2,
}
const PARSED = record({
  program: TEXT,
  parsed: record({ type: TEXT, info: { type: 'object' } }),
  space: INTEGER,
})
export const ACCOUNT = record({
  lamports: U64,
  data: { anyOf: [ENCODED, PARSED] },
  owner: PUBKEY,
  executable: FLAG,
  rentEpoch: U64,
  space: INTEGER,
})
export const ACCOUNT_OR_NULL = orNull(ACCOUNT)
/** A row of a page. */
export const KEYED_ACCOUNT = record({ pubkey: PUBKEY, account: ACCOUNT })
export const LAMPORTS = U64

const AMOUNT = {
  amount: { type: 'string', pattern: '^[0-9]+$' },
  decimals: INTEGER,
  uiAmount: { type: ['number', 'null'] },
  uiAmountString: TEXT,
}
export const TOKEN_AMOUNT = record(AMOUNT)
export const HOLDER = record({ address: PUBKEY, ...AMOUNT })
export const PAGE = record({
  accounts: list(KEYED_ACCOUNT),
  count: INTEGER,
  paginationKey: orNull(PUBKEY),
})

const SLICE = record({ offset: INTEGER, length: INTEGER })
const COMMITMENTS = ['finalized', 'confirmed', 'processed']
/** Accepted and not checked. */
const IGNORED_MEMBERS = {
  commitment: { description: 'Accepted and ignored.' },
  minContextSlot: { description: 'Accepted and ignored.' },
}
const ACCOUNT_MEMBERS = {
  encoding: orNull({
    enum: ['base64', 'base58', 'base64+zstd', 'jsonParsed'],
    default: 'base64',
  }),
  dataSlice: orNull(SLICE),
}
/** All members are optional. */
export const options = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  orNull(record(properties, Object.keys(properties)))

/** Page size: its default and its upper bound (contract: page-limit). */
export const PAGE_LIMIT_DEFAULT = 1_000
export const PAGE_LIMIT_MAX = 10_000
/** Bytes of a `memcmp`, and characters of the longest text of them in base58 or base64. */
const MEMCMP_BYTES_MAX = 128
const MEMCMP_CHARS_MAX = 176

const PAGE_MEMBERS = {
  ...ACCOUNT_MEMBERS,
  limit: orNull({
    type: 'integer',
    minimum: 1,
    maximum: PAGE_LIMIT_MAX,
    default: PAGE_LIMIT_DEFAULT,
    description: 'A value outside the range is clamped into it, not refused.',
  }),
  paginationKey: orNull(PUBKEY),
}
const BYTE: JsonSchema = { type: 'integer', minimum: 0, maximum: 255 }
const MEMCMP = record(
  {
    offset: INTEGER,
    bytes: {
      anyOf: [
        { type: 'string', maxLength: MEMCMP_CHARS_MAX },
        { type: 'array', items: BYTE, maxItems: MEMCMP_BYTES_MAX },
      ],
    },
    encoding: orNull({ enum: ['base58', 'base64', 'bytes'], default: 'base58' }),
  },
  ['encoding'],
)
export const FILTER: JsonSchema = {
  anyOf: [record({ dataSize: INTEGER }), record({ memcmp: MEMCMP })],
}
export const COMMITMENT: JsonSchema = orNull({ enum: COMMITMENTS, default: 'finalized' })
export const ANY_OPTIONS = options(IGNORED_MEMBERS)
/** Options that choose a block. */
export const BLOCK_OPTIONS = options({
  commitment: COMMITMENT,
  minContextSlot: orNull(INTEGER),
})
const CHANGED_SINCE = { changedSinceSlot: orNull(INTEGER) }
export const ACCOUNT_OPTIONS = options({
  ...ACCOUNT_MEMBERS,
  ...IGNORED_MEMBERS,
  ...CHANGED_SINCE,
})
export const TOKEN_OPTIONS = options({ ...IGNORED_MEMBERS, ...CHANGED_SINCE })
/** Options of a subscription to accounts, beside those of its method. */
export const SUBSCRIPTION_MEMBERS = {
  ...ACCOUNT_MEMBERS,
  commitment: IGNORED_MEMBERS.commitment,
}
export const PAGE_OPTIONS = options({ ...PAGE_MEMBERS, ...IGNORED_MEMBERS })
export const PROGRAM_OPTIONS = options({
  ...PAGE_MEMBERS,
  ...IGNORED_MEMBERS,
  filters: orNull(list(FILTER)),
  ...CHANGED_SINCE,
})
export const TOKEN_FILTER: JsonSchema = {
  anyOf: [record({ mint: PUBKEY }), record({ programId: PUBKEY })],
}

const INTEGER_OR_NULL = orNull(INTEGER)
const TEXT_OR_NULL = orNull(TEXT)

/** A submission as its access sees it; docs/submission.md explains the states. */
export const SUBMISSION_VIEW = record({
  submissionId: { type: 'string', format: 'uuid' },
  network: TEXT,
  location: TEXT,
  route: TEXT,
  bundleId: TEXT_OR_NULL,
  state: TEXT,
  reason: TEXT_OR_NULL,
  findings: TEXT_OR_NULL,
  receivedAtMs: INTEGER,
  receivedSlot: INTEGER_OR_NULL,
  writtenAtMs: INTEGER_OR_NULL,
  answeredAtMs: INTEGER_OR_NULL,
  tipLamports: INTEGER,
  transactions: list(
    record({
      signature: TEXT,
      state: TEXT,
      slot: INTEGER_OR_NULL,
      index: INTEGER_OR_NULL,
      error: {},
      reason: TEXT_OR_NULL,
      delaySlots: INTEGER_OR_NULL,
      delayMs: INTEGER_OR_NULL,
      tips: list(record({ account: PUBKEY, lamports: INTEGER })),
    }),
  ),
})

/** Which submissions `getSubmissions` finds. */
export const SUBMISSION_FILTERS = options({
  limit: orNull({ type: 'integer', minimum: 1, maximum: 100, default: 20 }),
  before: orNull({ type: 'string', format: 'uuid' }),
  route: TEXT_OR_NULL,
  state: TEXT_OR_NULL,
  signature: orNull(SIGNATURE),
  fromMs: INTEGER_OR_NULL,
  untilMs: INTEGER_OR_NULL,
})

/** The hours and the lane that `getLanePerformance` reports. */
export const PERFORMANCE_OPTIONS = options({
  fromMs: INTEGER_OR_NULL,
  untilMs: INTEGER_OR_NULL,
  grain: orNull({ enum: ['range', 'hour'], default: 'range' }),
  lane: TEXT_OR_NULL,
})

const SHARES = orNull(record({ p50: INTEGER, p90: INTEGER, p99: INTEGER }))

const PERFORMANCE = {
  sent: INTEGER,
  landed: INTEGER,
  failed: INTEGER,
  partlyLanded: INTEGER,
  expired: INTEGER,
  replaced: INTEGER,
  refused: INTEGER,
  unseen: INTEGER,
  landingRate: orNull({ type: 'number', minimum: 0, maximum: 1 }),
  delaySlots: SHARES,
  delayMs: SHARES,
}

/** What became of submissions by lane. */
export const LANES_VIEW = record({
  fromMs: INTEGER,
  untilMs: INTEGER,
  lanes: list(
    record({
      lane: TEXT_OR_NULL,
      startMs: INTEGER,
      ...PERFORMANCE,
      tips: list(
        record({
          tipFromLamports: INTEGER,
          tipUntilLamports: INTEGER_OR_NULL,
          ...PERFORMANCE,
        }),
      ),
    }),
  ),
})

/** A notification of `submissionSubscribe`. */
export const SUBMISSION_CHANGE = record(
  {
    cursor: TEXT,
    gap: FLAG,
    submissionId: { type: 'string', format: 'uuid' },
    route: TEXT,
    state: TEXT,
    atMs: INTEGER_OR_NULL,
    signatures: list(TEXT),
    reason: TEXT,
    signature: TEXT,
    slot: INTEGER,
    index: INTEGER_OR_NULL,
    error: {},
    delaySlots: INTEGER_OR_NULL,
    delayMs: INTEGER_OR_NULL,
  },
  [
    'gap',
    'submissionId',
    'route',
    'state',
    'atMs',
    'signatures',
    'reason',
    'signature',
    'slot',
    'index',
    'error',
    'delaySlots',
    'delayMs',
  ],
)

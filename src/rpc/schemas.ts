/** A JSON schema, as documents hold it. */
export type JsonSchema = Readonly<Record<string, unknown>>

const U64_MAX = 2 ** 64
const INTEGER: JsonSchema = { type: 'integer', minimum: 0 }
/** May be larger than the largest exact integer of a double. */
const U64: JsonSchema = { type: 'integer', minimum: 0, maximum: U64_MAX }
export const TEXT: JsonSchema = { type: 'string' }
export const SLOT: JsonSchema = INTEGER
export const FLAG: JsonSchema = { type: 'boolean' }
/** 32 bytes in base58. */
export const PUBKEY: JsonSchema = { type: 'string', pattern: '^[1-9A-HJ-NP-Za-km-z]{32,44}$' }

const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] })

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
const ACCOUNT = record({
  lamports: U64,
  data: { anyOf: [ENCODED, PARSED] },
  owner: PUBKEY,
  executable: FLAG,
  rentEpoch: U64,
  space: INTEGER,
})
export const ACCOUNT_OR_NULL = orNull(ACCOUNT)
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
  accounts: list(record({ pubkey: PUBKEY, account: ACCOUNT })),
  count: INTEGER,
  paginationKey: orNull(PUBKEY),
})

const SLICE = record({ offset: INTEGER, length: INTEGER })
const ACCOUNT_MEMBERS = {
  encoding: orNull({ enum: ['base64', 'base58', 'base64+zstd', 'jsonParsed'] }),
  dataSlice: orNull(SLICE),
}
/** All members are optional. */
const options = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  orNull(record(properties, Object.keys(properties)))

const PAGE_MEMBERS = {
  ...ACCOUNT_MEMBERS,
  limit: orNull({ type: 'integer' }),
  paginationKey: orNull(PUBKEY),
}
const MEMCMP = record(
  {
    offset: INTEGER,
    bytes: { anyOf: [TEXT, list(INTEGER)] },
    encoding: orNull({ enum: ['base58', 'base64', 'bytes'] }),
  },
  ['encoding'],
)
const FILTER: JsonSchema = {
  anyOf: [record({ dataSize: INTEGER }), record({ memcmp: MEMCMP })],
}
export const ANY_OPTIONS = options({})
export const COMMITMENT_OPTIONS = options({
  commitment: orNull({ enum: ['finalized', 'confirmed', 'processed'], default: 'finalized' }),
})
export const ACCOUNT_OPTIONS = options(ACCOUNT_MEMBERS)
export const PAGE_OPTIONS = options(PAGE_MEMBERS)
export const PROGRAM_OPTIONS = options({
  ...PAGE_MEMBERS,
  filters: orNull(list(FILTER)),
  changedSinceSlot: orNull(INTEGER),
})
export const TOKEN_FILTER: JsonSchema = {
  anyOf: [record({ mint: PUBKEY }), record({ programId: PUBKEY })],
}

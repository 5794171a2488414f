import bs58 from 'bs58'
import { decodeFields, type Field } from './protobuf.js'

/** Levels by their number on the wire. */
export const COMMITMENT = { processed: 0, confirmed: 1, finalized: 2 } as const
export type CommitmentNumber = (typeof COMMITMENT)[keyof typeof COMMITMENT]

/** A refused request; the message is sent to the client. */
export class FilterError extends Error {
  override readonly name = 'FilterError'
}

/** Comparison with the lamports of an account. */
export type LamportsFilter = { readonly compare: 'eq' | 'ne' | 'lt' | 'gt'; readonly value: bigint }

/** One member of `filters` of an accounts filter; members are joined by AND. */
export type AccountDataFilter =
  | { readonly kind: 'memcmp'; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'datasize'; readonly byteCount: bigint }
  | { readonly kind: 'tokenAccountState'; readonly wanted: boolean }
  | ({ readonly kind: 'lamports' } & LamportsFilter)

export type AccountsFilter = {
  readonly accounts: readonly Uint8Array[]
  readonly owners: readonly Uint8Array[]
  readonly filters: readonly AccountDataFilter[]
  readonly hasSignature: boolean | undefined
}

export type SlotsFilter = {
  readonly isByCommitment: boolean
  readonly hasInterslotUpdates: boolean
}

export type TransactionsFilter = {
  readonly isVote: boolean | undefined
  readonly isFailed: boolean | undefined
  readonly signature: Uint8Array | undefined
  readonly include: readonly Uint8Array[]
  readonly exclude: readonly Uint8Array[]
  readonly required: readonly Uint8Array[]
}

export type BlocksFilter = {
  /** Without accounts the block has only its meta. */
  readonly hasAccounts: boolean
}

export type DataSlice = { readonly offset: number; readonly length: number }

/** A subscription, by filter label. */
export type SubscribeRequest = {
  readonly accounts: ReadonlyMap<string, AccountsFilter>
  readonly slots: ReadonlyMap<string, SlotsFilter>
  readonly transactions: ReadonlyMap<string, TransactionsFilter>
  readonly transactionsStatus: ReadonlyMap<string, TransactionsFilter>
  readonly blocks: ReadonlyMap<string, BlocksFilter>
  readonly blocksMeta: readonly string[]
  readonly entries: readonly string[]
  /** Whether each filter of footers asks for certificates. */
  readonly footers: ReadonlyMap<string, boolean>
  readonly commitment: CommitmentNumber
  readonly slices: readonly DataSlice[]
  /** Of a ping, which has no other members. */
  readonly pingId: number | undefined
  readonly fromSlot: number | undefined
}

/** Limits of public servers. */
const DATA_FILTERS_MAX = 4
const MEMCMP_BYTES_MAX = 128
const LABEL_BYTES_MAX = 32
const SLICES_MAX = 16

const refuse = (reason: string): never => {
  throw new FilterError(`failed to create filter: ${reason}`)
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

const decodeBase58 = (bytes: Uint8Array, byteCount: number, what: string): Uint8Array => {
  const value = text(bytes)
  const decoded = bs58.decodeUnsafe(value)
  return decoded?.length === byteCount ? decoded : refuse(`invalid ${what} ${value}`)
}

export const pubkey = (bytes: Uint8Array): Uint8Array => decodeBase58(bytes, 32, 'pubkey')

const toNumber = (value: bigint): number => Number(value)

export const find = (fields: readonly Field[], number: number): Field | undefined =>
  fields.findLast(field => field.number === number)

export const all = <T>(
  fields: readonly Field[],
  number: number,
  decode: (bytes: Uint8Array) => T,
): T[] => fields.filter(field => field.number === number).map(field => decode(field.bytes))

export const optionalBool = (fields: readonly Field[], number: number): boolean | undefined => {
  const field = find(fields, number)
  return field === undefined ? undefined : field.varint !== 0n
}

const decodeMemcmp = (bytes: Uint8Array): AccountDataFilter => {
  const fields = decodeFields(bytes)
  const data = fields.findLast(({ number }) => number >= 2 && number <= 4)
  if (data === undefined) return refuse('memcmp needs data')
  const value = data.number === 2 ? data.bytes : decodeText(data.number, text(data.bytes))
  if (value.length > MEMCMP_BYTES_MAX) refuse(`memcmp data exceeds ${MEMCMP_BYTES_MAX} bytes`)
  return { kind: 'memcmp', offset: toNumber(find(fields, 1)?.varint ?? 0n), bytes: value }
}

const decodeText = (field: number, value: string): Uint8Array => {
  if (field === 3) return bs58.decodeUnsafe(value) ?? refuse('memcmp base58 is invalid')
  const decoded = Buffer.from(value, 'base64')
  return decoded.toString('base64') === value ? decoded : refuse('memcmp base64 is invalid')
}

const LAMPORTS_COMPARES = ['eq', 'ne', 'lt', 'gt'] as const

const decodeLamports = (bytes: Uint8Array): AccountDataFilter => {
  const field = decodeFields(bytes).at(-1)
  const compare = LAMPORTS_COMPARES[(field?.number ?? 0) - 1]
  if (field === undefined || compare === undefined) return refuse('lamports needs a comparison')
  return { kind: 'lamports', compare, value: field.varint }
}

const decodeDataFilter = (bytes: Uint8Array): AccountDataFilter => {
  const field = decodeFields(bytes).at(-1)
  if (field?.number === 1) return decodeMemcmp(field.bytes)
  if (field?.number === 2) return { kind: 'datasize', byteCount: field.varint }
  if (field?.number === 3) return { kind: 'tokenAccountState', wanted: field.varint !== 0n }
  if (field?.number === 4) return decodeLamports(field.bytes)
  return refuse('a member of filters is empty or not known')
}

const decodeAccounts = (bytes: Uint8Array): AccountsFilter => {
  const fields = decodeFields(bytes)
  if (find(fields, 6) !== undefined) refuse('cuckoo_accounts_filter is not served here')
  const filters = all(fields, 4, decodeDataFilter)
  if (filters.length > DATA_FILTERS_MAX) refuse(`more than ${DATA_FILTERS_MAX} filters`)
  return {
    accounts: all(fields, 2, pubkey),
    owners: all(fields, 3, pubkey),
    filters,
    hasSignature: optionalBool(fields, 5),
  }
}

export const decodeSlots = (bytes: Uint8Array): SlotsFilter => {
  const fields = decodeFields(bytes)
  return {
    isByCommitment: optionalBool(fields, 1) ?? false,
    hasInterslotUpdates: optionalBool(fields, 2) ?? false,
  }
}

const decodeTransactions = (bytes: Uint8Array): TransactionsFilter => {
  const fields = decodeFields(bytes)
  if (find(fields, 7) !== undefined) refuse('cuckoo_account_include is not served here')
  if (find(fields, 30) !== undefined) refuse('token_accounts is not served here')
  const signature = find(fields, 5)
  return {
    isVote: optionalBool(fields, 1),
    isFailed: optionalBool(fields, 2),
    signature: signature && decodeBase58(signature.bytes, 64, 'signature'),
    include: all(fields, 3, pubkey),
    exclude: all(fields, 4, pubkey),
    required: all(fields, 6, pubkey),
  }
}

const decodeBlocks = (bytes: Uint8Array): BlocksFilter => {
  const fields = decodeFields(bytes)
  if (find(fields, 1) !== undefined) refuse('account_include of blocks is not served here')
  // Absent means true.
  if (optionalBool(fields, 2) !== false) refuse('blocks with transactions are not served here')
  if (optionalBool(fields, 4) === true) refuse('blocks with entries are not served here')
  return { hasAccounts: optionalBool(fields, 3) ?? false }
}

/** A map is a list of {key = 1, value = 2} on the wire. */
export const decodeMap = <T>(
  fields: readonly Field[],
  number: number,
  decode: (bytes: Uint8Array) => T,
): Map<string, T> =>
  new Map(
    all(fields, number, bytes => {
      const entry = decodeFields(bytes)
      const label = text(find(entry, 1)?.bytes ?? new Uint8Array(0))
      if (Buffer.byteLength(label) > LABEL_BYTES_MAX)
        refuse(`a filter name exceeds ${LABEL_BYTES_MAX} bytes`)
      return [label, decode(find(entry, 2)?.bytes ?? new Uint8Array(0))] as const
    }),
  )

const decodeCommitment = (field: Field | undefined): CommitmentNumber => {
  const value = toNumber(field?.varint ?? 0n)
  return value === 0 || value === 1 || value === 2
    ? value
    : refuse(`commitment level ${value} is not known`)
}

const decodeSlice = (bytes: Uint8Array): DataSlice => {
  const fields = decodeFields(bytes)
  const valueOf = (number: number): number => toNumber(find(fields, number)?.varint ?? 0n)
  return { offset: valueOf(1), length: valueOf(2) }
}

/** Throws FilterError for a refused request, ProtobufError for invalid bytes. */
export const decodeSubscribeRequest = (bytes: Uint8Array): SubscribeRequest => {
  const fields = decodeFields(bytes)
  const ping = find(fields, 9)
  const slices = all(fields, 7, decodeSlice)
  if (slices.length > SLICES_MAX) refuse(`more than ${SLICES_MAX} data slices`)
  const pingId = ping && decodeFields(ping.bytes).findLast(({ number }) => number === 1)?.varint
  const fromSlot = find(fields, 11)
  return {
    accounts: decodeMap(fields, 1, decodeAccounts),
    slots: decodeMap(fields, 2, decodeSlots),
    transactions: decodeMap(fields, 3, decodeTransactions),
    transactionsStatus: decodeMap(fields, 10, decodeTransactions),
    blocks: decodeMap(fields, 4, decodeBlocks),
    blocksMeta: [...decodeMap(fields, 5, () => undefined).keys()],
    // No bank of the sandbox changes its parent, so `include_update_parent` adds nothing.
    entries: [...decodeMap(fields, 8, () => undefined).keys()],
    footers: decodeMap(fields, 12, bytes => optionalBool(decodeFields(bytes), 1) ?? false),
    commitment: decodeCommitment(find(fields, 6)),
    slices,
    pingId: ping && Number(BigInt.asIntN(32, pingId ?? 0n)),
    fromSlot: fromSlot && toNumber(fromSlot.varint),
  }
}

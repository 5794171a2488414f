import { toDataSlice, toEncoding } from '../native/account-view.js'
import { RpcError } from '../shared/errors.js'
import { decodePubkey, decodePubkeys } from '../native/encoding.js'
import type { Page } from '../native/reads.js'
import { toFilters } from '../native/filters.js'
import { optional, required } from './method.js'
import { PackedAddresses } from '../native/reads.js'
import type { WantedBlock } from './require-block.js'
import {
  ACCOUNT_OPTIONS,
  ANY_OPTIONS,
  BLOCK_OPTIONS,
  list,
  PAGE_LIMIT_DEFAULT,
  PAGE_LIMIT_MAX,
  PAGE_OPTIONS,
  PROGRAM_OPTIONS,
  PUBKEY,
  TOKEN_OPTIONS,
} from '../shared/describe/schemas.js'
import { isAbsent, isCount, toCount, toText, wrongType, type Members } from '../shared/values.js'

/** Errors of addresses, of how account data is written, and of pages. */
const PUBKEY_ERRORS = ['pubkeyDecode', 'pubkeySize'] as const
const VIEW_ERRORS = ['unsupportedEncoding', 'dataSlice', 'base58TooLong'] as const
const PAGE_ERRORS = [...VIEW_ERRORS, ...PUBKEY_ERRORS, 'limitNumber'] as const

/** A base58 address. */
export const pubkey = required(
  'pubkey',
  (value, index) => decodePubkey(toText(value, index)),
  PUBKEY,
  PUBKEY_ERRORS,
)

/** A blockhash in base58, with Agave's errors for an invalid one. */
export const blockhash = required(
  'blockhash',
  (value, index) => {
    const text = toText(value, index)
    try {
      return decodePubkey(text)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      throw new RpcError(error.name === 'pubkeySize' ? 'blockhashSize' : 'blockhashDecode')
    }
  },
  PUBKEY,
  ['blockhashDecode', 'blockhashSize'],
)

/** Base58 addresses, 32 bytes each in one array. Only the body's size bounds their number. */
export const pubkeys = {
  ...required('addresses', (value, index) => toPubkeys(value, index), list(PUBKEY), PUBKEY_ERRORS),
  isLongList: true,
}

const toPubkeys = (value: unknown, index: number): Uint8Array => {
  if (value instanceof PackedAddresses) return value.keys()
  if (!Array.isArray(value)) throw wrongType(value, index, 'a sequence')
  const texts: string[] = []
  for (const element of value) texts.push(toText(element, index))
  return decodePubkeys(texts)
}

/**
 * Options without effect: in the reads of accounts `commitment` and `minContextSlot` are not
 * checked (contract: indexed-slot).
 */
export const ignored = optional('options', () => undefined, ANY_OPTIONS)

/**
 * Options of which `commitment` selects the block (contract: commitment), which must be of
 * `minContextSlot` or later (contract: min-context-slot). As in Agave any other commitment than a
 * known name counts as none.
 */
export const block = optional(
  'options',
  ({ commitment: name, minContextSlot }, index): WantedBlock => ({
    commitment: name === 'confirmed' || name === 'processed' ? 'confirmed' : 'finalized',
    minContextSlot: toMinSlot(minContextSlot, index),
  }),
  BLOCK_OPTIONS,
  ['minContextSlot'],
)

const toMinSlot = (value: unknown, index: number): number | undefined => {
  if (isAbsent(value)) return undefined
  if (!isCount(value)) throw wrongType(value, index, 'u64')
  return toCount(value)
}

/** How account data is written, and after which slot it must have changed. */
export const accountOptions = optional(
  'options',
  members => {
    const encoding = toEncoding(members['encoding'])
    return {
      encoding,
      dataSlice: toDataSlice(members['dataSlice'], encoding),
      changedSinceSlot: toSlot(members['changedSinceSlot']),
    }
  },
  ACCOUNT_OPTIONS,
  [...VIEW_ERRORS, 'changedSinceSlot'],
)

/** After which slot what a token read reads was changed, if that matters. */
export const tokenOptions = optional(
  'options',
  members => toSlot(members['changedSinceSlot']),
  TOKEN_OPTIONS,
  ['changedSinceSlot'],
)

/**
 * A page of a wallet's token accounts, without `filters` and `changedSinceSlot` (contract:
 * owner-filter).
 */
export const pageConfig = optional(
  'config',
  (members, index) => toPage(members, index),
  PAGE_OPTIONS,
  PAGE_ERRORS,
)

/** A page of a program's accounts. */
export const programConfig = optional(
  'config',
  (members, index) => ({
    ...toPage(members, index),
    filters: toFilters(members['filters']),
    changedSinceSlot: toSlot(members['changedSinceSlot']),
  }),
  PROGRAM_OPTIONS,
  [...PAGE_ERRORS, 'filterShape', 'memcmpBytes', 'memcmpTooLarge', 'changedSinceSlot'],
)

const toPage = (members: Members, index: number): Page => {
  const { paginationKey } = members
  const encoding = toEncoding(members['encoding'])
  return {
    encoding,
    dataSlice: toDataSlice(members['dataSlice'], encoding),
    limit: toLimit(members['limit']),
    after: isAbsent(paginationKey) ? undefined : decodePubkey(toText(paginationKey, index)),
  }
}

const toLimit = (value: unknown): number => {
  if (isAbsent(value)) return PAGE_LIMIT_DEFAULT
  if (typeof value !== 'number' || !Number.isInteger(value)) throw new RpcError('limitNumber')
  return Math.min(Math.max(value, 1), PAGE_LIMIT_MAX)
}

const toSlot = (value: unknown): number | undefined => {
  if (isAbsent(value)) return undefined
  if (!isCount(value)) throw new RpcError('changedSinceSlot')
  return toCount(value)
}

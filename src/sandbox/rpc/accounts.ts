import bs58 from 'bs58'
import { isAbsent, isMap, type Members } from '../../shared/values.js'
import { ADDRESSES, isSameBytes } from '../solana/addresses.js'
import type { AccountState } from '../chain/block.js'
import type { Chain } from '../chain/chain.js'
import { parseTokenAccount } from './parse-token-account.js'
import { invalidParam, quote, RpcFailure } from './failure.js'
import { toCount, toList, toOptions, toPubkey } from './params.js'

/** Limit of base58, which takes quadratic time. */
const BASE58_BYTES_MAX = 128
const TOKEN_ACCOUNT_BYTES = 165
const STATE_AT = 108
/** Default number of rows of a page. */
const PAGE_ROWS = 1_000
const PAGE_ROWS_MAX = 10_000

type Found = readonly [pubkey: Uint8Array, state: AccountState]

const encodeData = (data: Uint8Array, encoding: unknown): unknown => {
  if (isAbsent(encoding) || encoding === 'binary' || encoding === 'base58') {
    if (data.length > BASE58_BYTES_MAX)
      throw new RpcFailure(
        -32600,
        'Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.',
      )
    const text = bs58.encode(data)
    return encoding === 'base58' ? [text, encoding] : text
  }
  // Data without a parser is base64, as on Solana.
  if (encoding === 'base64' || encoding === 'jsonParsed')
    return [Buffer.from(data).toString('base64'), 'base64']
  throw invalidParam(`unsupported encoding: ${quote(encoding)}`)
}

/** An account in the shape of JSON-RPC. */
export const toAccount = (chain: Chain, state: AccountState, { encoding, dataSlice }: Members) => {
  const { lamports, data, owner, executable, rentEpoch } = state
  const slice = isAbsent(dataSlice) ? undefined : toOptions(dataSlice)
  const offset = slice === undefined ? 0 : toCount(slice['offset'])
  const length = slice === undefined ? data.length : toCount(slice['length'])
  const parsed = encoding === 'jsonParsed' ? parseTokenAccount(chain, state) : undefined
  return {
    lamports,
    data: parsed ?? encodeData(data.subarray(offset, offset + length), encoding),
    owner: bs58.encode(owner),
    executable,
    rentEpoch,
    space: data.length,
  }
}

const toBytes = (bytes: unknown, encoding: unknown): Uint8Array => {
  if (Array.isArray(bytes)) return Uint8Array.from(bytes, Number)
  if (typeof bytes !== 'string' || bytes.length > 256)
    throw invalidParam('Invalid param: filter must be dataSize or memcmp')
  const decoded = encoding === 'base64' ? Buffer.from(bytes, 'base64') : bs58.decodeUnsafe(bytes)
  if (decoded === undefined) throw invalidParam('Invalid param: memcmp bytes (base58)')
  return decoded
}

const toTest = (filter: unknown): ((data: Uint8Array) => boolean) => {
  const { dataSize, memcmp } = toOptions(filter)
  if (!isAbsent(dataSize)) {
    const size = toCount(dataSize)
    return data => data.length === size
  }
  if (!isMap(memcmp)) throw invalidParam('Invalid param: filter must be dataSize or memcmp')
  const offset = toCount(memcmp['offset'])
  const bytes = toBytes(memcmp['bytes'], memcmp['encoding'])
  return data => isSameBytes(data.subarray(offset, offset + bytes.length), bytes)
}

const toRows = (chain: Chain, found: readonly Found[], options: Members) =>
  found.map(([pubkey, state]) => ({
    pubkey: bs58.encode(pubkey),
    account: toAccount(chain, state, options),
  }))

/** Limit of providers for one call. */
const KEYS_MAX = 100

/** Accounts in the order of the requested addresses; null if one does not exist. */
export const multipleAccounts = (chain: Chain, keys: unknown, options: Members) =>
  toList(keys, KEYS_MAX).map(key => {
    const state = chain.account(toPubkey(key))
    return state === undefined ? null : toAccount(chain, state, options)
  })

/** A program's accounts after `paginationKey`, at most `limit`, with the key of the next page. */
export const programAccountsPage = (chain: Chain, program: unknown, options: Members) => {
  const limit = Math.min(toCount(options['limit'], PAGE_ROWS), PAGE_ROWS_MAX)
  const { paginationKey } = options
  const after = isAbsent(paginationKey) ? undefined : Buffer.from(toPubkey(paginationKey))
  const rows = findAccounts(chain, program, options)
    .filter(([pubkey]) => after === undefined || after.compare(pubkey) < 0)
    .slice(0, limit)
  const last = rows.length < limit ? undefined : rows.at(-1)?.[0]
  return {
    accounts: toRows(chain, rows, options),
    count: rows.length,
    paginationKey: last === undefined ? null : bs58.encode(last),
  }
}

export const programAccounts = (chain: Chain, program: unknown, options: Members) =>
  toRows(chain, findAccounts(chain, program, options), options)

const findAccounts = (chain: Chain, program: unknown, options: Members): readonly Found[] => {
  const { filters } = options
  if (!isAbsent(filters) && !Array.isArray(filters))
    throw invalidParam('Invalid params: filters must be a sequence')
  const tests = (filters ?? []).map(toTest)
  return chain
    .programAccounts(toPubkey(program))
    .filter(([, { data }]) => tests.every(test => test(data)))
}

const TOKEN_PROGRAMS = [ADDRESSES.token, ADDRESSES.token2022]

/** The initialised token accounts of a wallet, by mint or by token program. */
export const tokenAccountsByOwner = (
  chain: Chain,
  [wallet, filter]: readonly unknown[],
  options: Members,
) => {
  const owner = toPubkey(wallet)
  const { mint, programId } = toOptions(filter)
  const mintBytes = isAbsent(mint) ? undefined : toPubkey(mint)
  const program = mintBytes === undefined ? toPubkey(programId) : undefined
  const programs = TOKEN_PROGRAMS.filter(
    known => program === undefined || isSameBytes(known, program),
  )
  if (programs.length === 0) throw invalidParam('Invalid param: unrecognized Token program id')
  const isTheirs = ([, { data }]: Found): boolean =>
    data.length >= TOKEN_ACCOUNT_BYTES &&
    data[STATE_AT] !== 0 &&
    isSameBytes(data.subarray(32, 64), owner) &&
    (mintBytes === undefined || isSameBytes(data.subarray(0, 32), mintBytes))
  const found = programs.flatMap(known => chain.programAccounts(known)).filter(isTheirs)
  return toRows(chain, found, options)
}

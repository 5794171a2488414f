import { readFileSync } from 'node:fs'
import bs58 from 'bs58'
import type { CheckedCall } from '../data/record-exchanges.js'
import { accountValue, type Json } from '../data/reference.js'

/** Pubkey, owner, lamports, data as base64. */
type Row = readonly [pubkey: string, owner: string, lamports: number, data: string]

/**
 * Members of a data set with their expected values, as written by
 * `native/ingest/examples/scale_bench/sample.rs`.
 */
export type Sample = {
  readonly slot: number
  readonly program: string
  readonly tokens: readonly Row[]
  readonly mints: readonly {
    readonly account: Row
    readonly holders: readonly (readonly [pubkey: string, amount: number])[]
  }[]
  readonly wallets: readonly { readonly pubkey: string; readonly accounts: readonly Row[] }[]
  readonly pages: readonly { readonly after: string; readonly accounts: readonly Row[] }[]
}

/** Requests of one method. */
export type Case = {
  readonly name: string
  /** Requests of a round: each asks for other members, until there are no more. */
  readonly roundRequests: number
  /**
   * Different requests of the largest set. A smaller one has fewer members, which are asked for
   * again: the client's own working set must not differ with the size.
   */
  readonly requestCount: number
  calls(): Iterable<CheckedCall>
}

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
/** All mints of the set have them. */
const DECIMALS = 6
const RENT_EPOCH = 18446744073709551615n
const PAGE_LIMIT = 1_000
const MULTIPLE = 10
/**
 * A prime, far from the number of token accounts: members that are requested together are far
 * apart.
 */
const STRIDE = 7_919

export const readSample = (path: string): Sample => JSON.parse(readFileSync(path, 'utf8')) as Sample

const valueOf = ([, owner, lamports, data]: Row): Json =>
  accountValue({
    lamports: BigInt(lamports),
    rentEpoch: RENT_EPOCH,
    executable: false,
    owner: Buffer.from(bs58.decode(owner)),
    data: Buffer.from(data, 'base64'),
  })

const amountOf = (amount: bigint): Readonly<Record<string, Json>> => {
  const digits = amount.toString().padStart(DECIMALS + 1, '0')
  const text = `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`
  const uiAmountString = text.replace(/\.?0+$/, '')
  const uiAmount = Number(text)
  return { amount: amount.toString(), decimals: DECIMALS, uiAmount, uiAmountString }
}

const numberAt = ([, , , data]: Row, offset: number): bigint =>
  Buffer.from(data, 'base64').readBigUInt64LE(offset)

const pageOf = (accounts: readonly Row[]): Json => ({
  accounts: accounts.map(row => ({ pubkey: row[0], account: valueOf(row) })),
  count: accounts.length,
  paginationKey: accounts.length === PAGE_LIMIT ? accounts.at(-1)?.[0] : null,
})

type Ask = { readonly params: readonly unknown[]; readonly result: Json }

const toCase = <T>(
  method: string,
  counts: Pick<Case, 'roundRequests' | 'requestCount'>,
  members: readonly T[],
  ask: (member: T) => Ask,
): Case => ({
  name: method,
  ...counts,
  *calls() {
    for (const member of members) yield { name: method, method, ...ask(member) }
  },
})

const POINT = { roundRequests: 2_048, requestCount: 10_240 }
const LIST = { roundRequests: 1_024, requestCount: 5_120 }
/** A page reads a megabyte of the store: all of them are more than a processor's caches hold. */
const PAGE = { roundRequests: 64, requestCount: 64 }

/** getAccountInfo of each mint: no update changes one. */
export const mintAccounts = ({ slot, mints }: Sample): CheckedCall[] =>
  mints.map(({ account }) => ({
    name: 'getAccountInfo',
    method: 'getAccountInfo',
    params: [account[0], { encoding: 'base64' }],
    result: { context: { slot }, value: valueOf(account) },
  }))

/**
 * Each method with its parameters and expected results. Requests are made as they are sent:
 * there are many.
 */
export const casesOf = (sample: Sample): Case[] => {
  const { slot, tokens, mints, wallets, pages, program } = sample
  const config = { encoding: 'base64' }
  const pageConfig = { ...config, limit: PAGE_LIMIT }
  const atSlot = (value: Json): Json => ({ context: { slot }, value })
  const groups = Array.from({ length: LIST.requestCount }, (_none, nth) =>
    Array.from({ length: MULTIPLE }, (_, position) => (nth * MULTIPLE + position) * STRIDE)
      .map(at => tokens[at % tokens.length])
      .filter(row => row !== undefined),
  )
  return [
    toCase('getAccountInfo', POINT, tokens, row => ({
      params: [row[0], config],
      result: atSlot(valueOf(row)),
    })),
    {
      ...toCase('getMultipleAccounts', LIST, groups, rows => ({
        params: [rows.map(([pubkey]) => pubkey), config],
        result: atSlot(rows.map(valueOf)),
      })),
      name: `getMultipleAccounts of ${MULTIPLE}`,
    },
    toCase('getTokenAccountBalance', POINT, tokens, row => ({
      params: [row[0]],
      result: atSlot(amountOf(numberAt(row, 64))),
    })),
    toCase('getTokenSupply', POINT, mints, ({ account }) => ({
      params: [account[0]],
      result: atSlot(amountOf(numberAt(account, 36))),
    })),
    toCase('getTokenLargestAccounts', POINT, mints, ({ account, holders }) => ({
      params: [account[0]],
      result: atSlot(
        holders.map(([address, amount]) => ({ address, ...amountOf(BigInt(amount)) })),
      ),
    })),
    toCase('getTokenAccountsByOwnerV2', LIST, wallets, ({ pubkey, accounts }) => ({
      params: [pubkey, { programId: TOKEN_PROGRAM }, pageConfig],
      result: atSlot(pageOf(accounts)),
    })),
    {
      ...toCase('getProgramAccountsV2', PAGE, pages, ({ after, accounts }) => ({
        params: [program, { ...pageConfig, paginationKey: after }],
        result: pageOf(accounts),
      })),
      name: `getProgramAccountsV2, ${PAGE_LIMIT} rows`,
    },
  ]
}

import { readFileSync } from 'node:fs'
import bs58 from 'bs58'
import type { Question } from './ask.js'
import { accountValue, type Json } from './reference.js'

/** Pubkey, owner, lamports, data as base64. */
type Row = readonly [pubkey: string, owner: string, lamports: number, data: string]

/** Members of a set with what is right for them, as `native/kernel/examples/scale_bench/sample.rs` writes it. */
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
  questions(): Iterable<Question>
}

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
/** All mints of the set have them. */
const DECIMALS = 6
const RENT_EPOCH = 18446744073709551615n
const PAGE_LIMIT = 1_000
const MULTIPLE = 10
/** A prime, far from the number of token accounts: members that are asked for together lie far apart. */
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

/** Each method with what it is asked for and what must come. Questions are made as they are asked: there are many. */
export const casesOf = (sample: Sample): Case[] => {
  const { slot, tokens, mints, wallets, pages, program } = sample
  const encoding = 'base64'
  const each = <T>(
    { method, roundRequests }: { readonly method: string; readonly roundRequests: number },
    members: readonly T[],
    ask: (member: T, nth: number) => { readonly params: readonly unknown[]; readonly result: Json },
  ): Case => ({
    name: method,
    roundRequests,
    *questions() {
      for (const [nth, member] of members.entries())
        yield { name: method, method, ...ask(member, nth) }
    },
  })
  const atSlot = (value: Json): Json => ({ context: { slot }, value })
  const some = (nth: number): Row[] =>
    Array.from({ length: MULTIPLE }, (_, place) => {
      const row = tokens[((nth * MULTIPLE + place) * STRIDE) % tokens.length]
      if (row === undefined) throw new Error('the sample has no token accounts')
      return row
    })
  const multiple = each(
    { method: 'getMultipleAccounts', roundRequests: 1_024 },
    // As many calls as wallets are asked for.
    tokens.slice(0, tokens.length / 2),
    (_row, nth) => {
      const rows = some(nth)
      return {
        params: [rows.map(([pubkey]) => pubkey), { encoding }],
        result: atSlot(rows.map(valueOf)),
      }
    },
  )
  const point = 2_048
  return [
    each({ method: 'getAccountInfo', roundRequests: point }, tokens, row => ({
      params: [row[0], { encoding }],
      result: atSlot(valueOf(row)),
    })),
    { ...multiple, name: `getMultipleAccounts of ${MULTIPLE}` },
    each({ method: 'getTokenAccountBalance', roundRequests: point }, tokens, row => ({
      params: [row[0]],
      result: atSlot(amountOf(numberAt(row, 64))),
    })),
    each({ method: 'getTokenSupply', roundRequests: point }, mints, ({ account }) => ({
      params: [account[0]],
      result: atSlot(amountOf(numberAt(account, 36))),
    })),
    each(
      { method: 'getTokenLargestAccounts', roundRequests: point },
      mints,
      ({ account, holders }) => ({
        params: [account[0]],
        result: atSlot(
          holders.map(([address, amount]) => ({ address, ...amountOf(BigInt(amount)) })),
        ),
      }),
    ),
    each(
      { method: 'getTokenAccountsByOwnerV2', roundRequests: 1_024 },
      wallets,
      ({ pubkey, accounts }) => ({
        params: [pubkey, { programId: TOKEN_PROGRAM }, { encoding, limit: PAGE_LIMIT }],
        result: atSlot(pageOf(accounts)),
      }),
    ),
    {
      ...each(
        { method: 'getProgramAccountsV2', roundRequests: pages.length },
        pages,
        ({ after, accounts }) => ({
          params: [program, { encoding, limit: PAGE_LIMIT, paginationKey: after }],
          result: pageOf(accounts),
        }),
      ),
      name: 'getProgramAccountsV2, 1,000 rows',
    },
  ]
}

import bs58 from 'bs58'
import {
  discriminator,
  DISCRIMINATORS,
  mintOf,
  mintPubkey,
  poolProgram,
  TOKEN_ACCOUNT_BYTES,
  TOKEN_PROGRAM,
  walletOf,
  walletPubkey,
  type Account,
} from './data.js'
import { pageRow, type Json } from './reference.js'
import { poolPage, tokenPage, type ExpectedState } from './expected-state.js'

/** One paged read: its request, the index that it should use, and the expected reply. */
export type PageRead = {
  readonly name: string
  readonly method: 'getProgramAccountsV2' | 'getTokenAccountsByOwnerV2'
  readonly params: readonly unknown[]
  /** The right result, worked out without the store. */
  result(): Json
}

const memcmp = (offset: number, bytes: Buffer) => ({
  memcmp: { offset, bytes: bs58.encode(bytes), encoding: 'base58' },
})

const pageOf = (accounts: readonly Account[], limit: number): Json => ({
  accounts: accounts.map(pageRow),
  count: accounts.length,
  paginationKey:
    accounts.length === limit ? bs58.encode(accounts.at(-1)?.pubkey ?? Buffer.alloc(0)) : null,
})

/** A page through each index of the store, of up to `limit` accounts. */
export const pageReads = (
  expected: ExpectedState,
  limit: number,
  changeBlocks: number,
): PageRead[] => {
  const { set } = expected
  const token = bs58.encode(TOKEN_PROGRAM)
  const pools = bs58.encode(poolProgram(set))
  const config = { encoding: 'base64', limit }
  const ofProgram = (
    name: string,
    program: string,
    narrowing: Readonly<Record<string, unknown>>,
    accounts: () => Account[],
  ): PageRead => ({
    name,
    method: 'getProgramAccountsV2',
    params: [program, { ...config, ...narrowing }],
    result: () => pageOf(accounts(), limit),
  })
  const onlyTokens = { dataSize: TOKEN_ACCOUNT_BYTES }
  const since = expected.slotOfChange(changeBlocks - 1)
  return [
    ofProgram('token accounts', token, { filters: [onlyTokens] }, () =>
      tokenPage(expected, limit, () => true),
    ),
    ofProgram('of one mint', token, { filters: [memcmp(0, mintPubkey(set, 0))] }, () =>
      tokenPage(expected, limit, index => mintOf(set, index) === 0),
    ),
    ofProgram('of one wallet', token, { filters: [memcmp(32, walletPubkey(set, 0))] }, () =>
      tokenPage(expected, limit, index => walletOf(set, index) === 0),
    ),
    ofProgram('changed since a slot', token, { changedSinceSlot: since }, () =>
      tokenPage(expected, limit, index => expected.isChangedSince(index, since)),
    ),
    ofProgram('another program', pools, {}, () => poolPage(expected, limit, () => true)),
    ofProgram('by discriminator', pools, { filters: [memcmp(0, discriminator(set, 0))] }, () =>
      poolPage(expected, limit, index => index % DISCRIMINATORS === 0),
    ),
    {
      name: 'by owner',
      method: 'getTokenAccountsByOwnerV2',
      params: [bs58.encode(walletPubkey(set, 0)), { programId: token }, config],
      result: () => ({
        context: { slot: expected.slot },
        value: pageOf(
          tokenPage(expected, limit, index => walletOf(set, index) === 0),
          limit,
        ),
      }),
    },
  ]
}

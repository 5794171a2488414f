import bs58 from 'bs58'
import { ADDRESSES, isSameBytes } from '../solana/addresses.js'
import type { AccountState } from '../chain/block.js'
import type { Chain } from '../chain/chain.js'
import { toUiText } from './transaction.js'

const ACCOUNT_BYTES = 165
/** Account type byte after the account, where Token-2022 adds extensions. */
const ACCOUNT_TYPE = 2
const STATES = ['uninitialized', 'initialized', 'frozen'] as const

const decimalsOf = (chain: Chain, mint: Uint8Array): number | undefined =>
  isSameBytes(mint, ADDRESSES.nativeMint) ? 9 : chain.account(mint)?.data[44]

/** A token account as `jsonParsed`, without extensions; `undefined` for other accounts. */
export const parseTokenAccount = (chain: Chain, { owner: program, data }: AccountState) => {
  const is2022 = isSameBytes(program, ADDRESSES.token2022)
  if (!is2022 && !isSameBytes(program, ADDRESSES.token)) return undefined
  const isAccount =
    data.length === ACCOUNT_BYTES || (is2022 && data[ACCOUNT_BYTES] === ACCOUNT_TYPE)
  const view = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const state = isAccount ? STATES[view.readUInt8(108)] : undefined
  const mint = data.subarray(0, 32)
  const decimals = isAccount ? decimalsOf(chain, mint) : undefined
  if (state === undefined || state === 'uninitialized' || decimals === undefined) return undefined
  const toAmount = (amount: bigint) => {
    const uiAmountString = toUiText(amount, decimals)
    return { amount: String(amount), decimals, uiAmount: Number(uiAmountString), uiAmountString }
  }
  /** A value that follows a tag, which says whether the value is set. */
  const optional = <T>(tagAt: number, value: T): T | undefined =>
    view.readUInt32LE(tagAt) === 1 ? value : undefined
  const key = (at: number): string => bs58.encode(data.subarray(at, at + 32))
  return {
    program: is2022 ? 'spl-token-2022' : 'spl-token',
    parsed: {
      info: {
        isNative: view.readUInt32LE(109) === 1,
        mint: key(0),
        owner: key(32),
        state,
        tokenAmount: toAmount(view.readBigUInt64LE(64)),
        delegate: optional(72, key(76)),
        delegatedAmount: optional(72, toAmount(view.readBigUInt64LE(121))),
        rentExemptReserve: optional(109, toAmount(view.readBigUInt64LE(113))),
        closeAuthority: optional(129, key(133)),
      },
      type: 'account',
    },
    space: data.length,
  }
}

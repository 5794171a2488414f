import bs58 from 'bs58'
import { ADDRESSES, isSameBytes, toMapKey } from '../solana/addresses.js'
import type { AccountState, TokenBalance } from './block.js'

const ACCOUNT_BYTES = 165
const MINT_BYTES = 82
const DECIMALS_AT = 44
const MINT_TAG = 1
const ACCOUNT_TAG = 2

type Holding = {
  readonly mint: string
  readonly owner: string
  readonly programId: string
  readonly amount: bigint
}

/** Texts of addresses that come again and again. */
const TEXTS_MAX = 10_000
const texts = new Map<string, string>()

const toText = (id: string): string => {
  const known = texts.get(id)
  if (known !== undefined) return known
  if (texts.size >= TEXTS_MAX) texts.clear()
  const text = bs58.encode(Buffer.from(id, 'latin1'))
  texts.set(id, text)
  return text
}

/**
 * What every token account holds, followed from the writes. It tells the balances before a
 * transaction without reading accounts that may be large.
 */
export class TokenBalances {
  private readonly holdings = new Map<string, Holding>()
  private readonly decimals = new Map<string, number>()

  note(pubkey: Uint8Array, { lamports, owner, data }: AccountState): void {
    const isTokenProgram =
      isSameBytes(owner, ADDRESSES.token) || isSameBytes(owner, ADDRESSES.token2022)
    const id = toMapKey(pubkey)
    this.holdings.delete(id)
    if (!isTokenProgram || lamports === 0n) return
    const { length } = data
    const tag = length > ACCOUNT_BYTES ? data[ACCOUNT_BYTES] : undefined
    if (length === MINT_BYTES || tag === MINT_TAG) {
      this.decimals.set(id, data[DECIMALS_AT] ?? 0)
    } else if (length === ACCOUNT_BYTES || tag === ACCOUNT_TAG) {
      this.holdings.set(id, {
        mint: toMapKey(data.subarray(0, 32)),
        owner: toMapKey(data.subarray(32, 64)),
        programId: toMapKey(owner),
        amount: Buffer.from(data.buffer, data.byteOffset, length).readBigUInt64LE(64),
      })
    }
  }

  /** Balances of those keys that are token accounts now. */
  balances(keys: readonly Uint8Array[]): TokenBalance[] {
    const balances: TokenBalance[] = []
    for (const [accountIndex, key] of keys.entries()) {
      const holding = this.holdings.get(toMapKey(key))
      if (holding === undefined) continue
      balances.push({
        accountIndex,
        mint: toText(holding.mint),
        owner: toText(holding.owner),
        programId: toText(holding.programId),
        amount: holding.amount,
        decimals: this.decimals.get(holding.mint) ?? 0,
      })
    }
    return balances
  }
}

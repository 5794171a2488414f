import bs58 from 'bs58'
import { ADDRESSES, isSameBytes, toMapKey } from './addresses.js'
import type { AccountState, TokenBalance } from './block.js'

const ACCOUNT_BYTES = 165
const MINT_BYTES = 82
const DECIMALS_AT = 44
const MINT_TAG = 1
const ACCOUNT_TAG = 2

type Holding = Omit<TokenBalance, 'accountIndex' | 'decimals'> & { readonly mintKey: string }

/**
 * What every token account holds, followed from the writes. It tells the balances before a
 * transaction without reading accounts that may be large.
 */
export class TokenLedger {
  private readonly holdings = new Map<string, Holding>()
  private readonly decimals = new Map<string, number>()

  note(pubkey: Uint8Array, { lamports, owner, data }: AccountState): void {
    const id = toMapKey(pubkey)
    this.holdings.delete(id)
    const isTokenProgram =
      isSameBytes(owner, ADDRESSES.token) || isSameBytes(owner, ADDRESSES.token2022)
    if (!isTokenProgram || lamports === 0n) return
    const tag = data[ACCOUNT_BYTES]
    if (data.length === MINT_BYTES || (data.length > ACCOUNT_BYTES && tag === MINT_TAG)) {
      this.decimals.set(id, data[DECIMALS_AT] ?? 0)
    } else if (
      data.length === ACCOUNT_BYTES ||
      (data.length > ACCOUNT_BYTES && tag === ACCOUNT_TAG)
    ) {
      const view = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
      this.holdings.set(id, {
        mint: bs58.encode(data.subarray(0, 32)),
        mintKey: toMapKey(data.subarray(0, 32)),
        owner: bs58.encode(data.subarray(32, 64)),
        programId: bs58.encode(owner),
        amount: view.readBigUInt64LE(64),
      })
    }
  }

  /** Balances of those keys that are token accounts now. */
  balances(keys: readonly Uint8Array[]): TokenBalance[] {
    return keys.flatMap((key, accountIndex) => {
      const holding = this.holdings.get(toMapKey(key))
      if (holding === undefined) return []
      const { mintKey, ...balance } = holding
      return [{ ...balance, accountIndex, decimals: this.decimals.get(mintKey) ?? 0 }]
    })
  }
}

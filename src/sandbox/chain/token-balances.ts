import bs58 from 'bs58'
import { ADDRESSES, isSameBytes, toMapKey } from '../solana/addresses.js'
import type { AccountState, TokenBalance } from './block.js'

const ACCOUNT_BYTES = 165
const MINT_BYTES = 82
const DECIMALS_AT = 44
const MINT_TAG = 1
const ACCOUNT_TAG = 2

type Balance = {
  readonly mint: string
  readonly owner: string
  readonly programId: string
  readonly amount: bigint
}

/** Cache of base58 addresses. */
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
 * Balances of all token accounts, updated with each write. Balances before a transaction are known
 * without reading accounts, which may be large.
 */
export class TokenBalances {
  private readonly accounts = new Map<string, Balance>()
  private readonly decimals = new Map<string, number>()

  record(pubkey: Uint8Array, { lamports, owner, data }: AccountState): void {
    const isTokenProgram =
      isSameBytes(owner, ADDRESSES.token) || isSameBytes(owner, ADDRESSES.token2022)
    const id = toMapKey(pubkey)
    this.accounts.delete(id)
    if (!isTokenProgram || lamports === 0n) return
    const { length } = data
    const tag = length > ACCOUNT_BYTES ? data[ACCOUNT_BYTES] : undefined
    if (length === MINT_BYTES || tag === MINT_TAG) {
      this.decimals.set(id, data[DECIMALS_AT] ?? 0)
    } else if (length === ACCOUNT_BYTES || tag === ACCOUNT_TAG) {
      this.accounts.set(id, {
        mint: toMapKey(data.subarray(0, 32)),
        owner: toMapKey(data.subarray(32, 64)),
        programId: toMapKey(owner),
        amount: Buffer.from(data.buffer, data.byteOffset, length).readBigUInt64LE(64),
      })
    }
  }

  /** Balances of those keys that are token accounts. */
  balances(keys: readonly Uint8Array[]): TokenBalance[] {
    const balances: TokenBalance[] = []
    for (const [accountIndex, key] of keys.entries()) {
      const account = this.accounts.get(toMapKey(key))
      if (account === undefined) continue
      balances.push({
        accountIndex,
        mint: toText(account.mint),
        owner: toText(account.owner),
        programId: toText(account.programId),
        amount: account.amount,
        decimals: this.decimals.get(account.mint) ?? 0,
      })
    }
    return balances
  }
}

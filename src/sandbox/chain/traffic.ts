import bs58 from 'bs58'
import type { Chain } from './chain.js'
import { compileTransaction } from '../solana/compile-transaction.js'
import { transferTokens } from '../solana/token-instructions.js'
import { MINT_DECIMALS, type SampleAccounts } from './sample-accounts.js'

/** Options of the traffic. */
export const defaults = {
  /** Transfers a second. 0 means no traffic. */
  perSecond: 0,
  /** The greatest rate that one core can execute and serve. */
  perSecondMax: 5_000,
  /** Shortest interval of the timer: short enough to spread transfers over a slot. */
  intervalMs: 20,
  /** The greatest delay of the timer that is caught up, so that a busy machine sends less. */
  catchUpMsMax: 200,
}
export type TrafficOptions = typeof defaults

/** A transfer moves 1 to this many base units. */
const AMOUNT_MAX = 1_000n

/** Returns a function that sends the next transfer between holders; the order is fixed. */
export const createTransfers = (chain: Chain, { holders, mint }: SampleAccounts): (() => void) => {
  let count = 0
  return () => {
    const source = holders[count % holders.length]
    // The step grows with each round, so that every pair is used.
    const step = 1 + (Math.floor(count / holders.length) % (holders.length - 1))
    const target = holders[(count + step) % holders.length]
    const amount = 1n + (BigInt(count) % AMOUNT_MAX)
    count++
    if (source === undefined || target === undefined) return
    const { account: from, wallet } = source
    const move = { from, to: target.account, mint, amount, decimals: MINT_DECIMALS }
    // `send` instead of `submit`, which throws: a user of the sample keys may spend, freeze or
    // close these accounts, and then the transfer fails.
    chain.send(
      compileTransaction(
        [transferTokens(move, wallet.publicKey)],
        [wallet],
        bs58.decode(chain.tip.blockhash),
      ),
    )
  }
}

/** Starts the traffic; returns a function that stops it. */
export const startTraffic = (
  chain: Chain,
  accounts: SampleAccounts,
  options: Partial<TrafficOptions> = {},
  now: () => number = Date.now,
): (() => void) => {
  const { perSecond, perSecondMax, intervalMs, catchUpMsMax } = { ...defaults, ...options }
  const rate = Math.min(perSecond, perSecondMax)
  if (rate <= 0) return () => {}
  // Four looks for each transfer are enough: a quiet chain is not woken for nothing.
  const everyMs = Math.max(intervalMs, Math.min(1_000 / rate / 4, catchUpMsMax / 2))
  const sendOne = createTransfers(chain, accounts)
  let last = now()
  let due = 0
  const timer = setInterval(() => {
    const elapsedMs = Math.min(now() - last, catchUpMsMax)
    last = now()
    for (due += (elapsedMs * rate) / 1000; due >= 1; due--) sendOne()
  }, everyMs)
  return () => clearInterval(timer)
}

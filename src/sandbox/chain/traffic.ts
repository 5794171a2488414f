import bs58 from 'bs58'
import type { Chain } from './chain.js'
import { compileTransaction } from '../solana/compile-transaction.js'
import { transferTokens } from '../solana/token-instructions.js'
import { MINT_DECIMALS, type World } from './world.js'

/** Options of the traffic. */
export const defaults = {
  /** Transfers a second. 0 is none. */
  perSecond: 0,
  /** More than this one core cannot execute and serve. */
  perSecondMax: 5_000,
  /** How often some are sent: often enough to spread them over a slot. */
  intervalMs: 20,
  /**
   * What a late timer makes up for; the rest is never sent, so that a busy machine is not made
   * busier.
   */
  arrearsMsMax: 200,
}
export type TrafficOptions = typeof defaults

/** A transfer moves 1 to this many base units. */
const AMOUNT_MAX = 1_000n

/** Sends one transfer after the other between the holders; the same order from the same world. */
export const createTransfers = (chain: Chain, { holders, mint }: World): (() => void) => {
  let count = 0
  return () => {
    const source = holders[count % holders.length]
    // The step grows with each round, so that every pair has its turn.
    const step = 1 + (Math.floor(count / holders.length) % (holders.length - 1))
    const target = holders[(count + step) % holders.length]
    const amount = 1n + (BigInt(count) % AMOUNT_MAX)
    count++
    if (source === undefined || target === undefined) return
    const { account: from, wallet } = source
    const move = { from, to: target.account, mint, amount, decimals: MINT_DECIMALS }
    // Sent, not submitted: whoever holds the sample keys may spend, freeze or close what this
    // needs, and then a transfer fails like anybody else's.
    chain.send(
      compileTransaction(
        [transferTokens(move, wallet.publicKey)],
        [wallet],
        bs58.decode(chain.tip.blockhash),
      ),
    )
  }
}

/** Starts the traffic; the function it returns ends it. */
export const startTraffic = (
  chain: Chain,
  world: World,
  options: Partial<TrafficOptions> = {},
  now: () => number = Date.now,
): (() => void) => {
  const { perSecond, perSecondMax, intervalMs, arrearsMsMax } = { ...defaults, ...options }
  const rate = Math.min(perSecond, perSecondMax)
  if (rate <= 0) return () => {}
  const sendOne = createTransfers(chain, world)
  let last = now()
  let due = 0
  const timer = setInterval(() => {
    const elapsedMs = Math.min(now() - last, arrearsMsMax)
    last = now()
    for (due += (elapsedMs * rate) / 1000; due >= 1; due--) sendOne()
  }, intervalMs)
  return () => clearInterval(timer)
}

import * as addon from '#native'
import { callNative } from './errors.js'

export type { MemberVerdict, Verdict } from '#native'

/** Checks of one route's transactions. They throw RpcErrors. */
export type TransactionChecks = Pick<addon.TransactionChecks, keyof addon.TransactionChecks>

/**
 * Creates the checks of one route. The first call's options create the process's pool, which all
 * its routes share.
 */
export const createTransactionChecks = (
  rules: addon.TransactionRules,
  pool: addon.VerifyPoolOptions,
): TransactionChecks => {
  const native = callNative(() => new addon.TransactionChecks(rules, pool))
  return {
    frameBatch: body => callNative(() => native.frameBatch(body)),
    checkBatch: body => callNative(() => native.checkBatch(body)),
    checkBundle: (transactions, bytesMax) =>
      callNative(() => native.checkBundle(transactions, bytesMax)),
    bundleId: (transactions, bytesMax) => callNative(() => native.bundleId(transactions, bytesMax)),
    waiting: () => callNative(() => native.waiting()),
  }
}

/**
 * Measures the processor time of a batch's check on this thread, and of a bare loop over its
 * signatures, for a benchmark.
 */
export const compareLoops = (body: Uint8Array): addon.LoopTimes =>
  callNative(() => addon.compareLoops(body))

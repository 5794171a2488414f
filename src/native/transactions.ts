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
    readTransaction: transaction => callNative(() => native.readTransaction(transaction)),
    checkTransaction: transaction => callNative(() => native.checkTransaction(transaction)),
    bundleId: (transactions, bytesMax) => callNative(() => native.bundleId(transactions, bytesMax)),
    waiting: () => callNative(() => native.waiting()),
  }
}

/** Decodes the base58 text of at most so many bytes; undefined where it is not one. */
export const decodeBase58 = (text: Uint8Array, bytesMax: number): Uint8Array | undefined =>
  callNative(() => addon.decodeBase58(text, bytesMax)) ?? undefined

/**
 * Measures the processor time of a batch's check on this thread, and of a bare loop over its
 * signatures, for a benchmark.
 */
export const compareLoops = (body: Uint8Array): addon.LoopTimes =>
  callNative(() => addon.compareLoops(body))

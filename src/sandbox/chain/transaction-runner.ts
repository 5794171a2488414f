import { isSameBytes, toMapKey } from '../solana/addresses.js'
import {
  executeTransaction,
  type Execution,
  type Machine,
  refuse,
  type Refusal,
} from './execute-transaction.js'
import { parseTransaction, TransactionFormatError } from '../solana/parse-transaction.js'
import type { ParsedTransaction } from '../solana/transaction.js'
import type { Recency } from './recency.js'
import { CLOSED } from './svm-accounts.js'

/** An executed transaction that is not in a block yet. */
export type Run = Execution & {
  readonly transaction: ParsedTransaction
  readonly signature: Uint8Array
}

/** Why a bundle was rolled back, and the index of the failed member. */
export type BundleRefusal = Refusal & { readonly index: number }

/** The executed members of a bundle. */
export type BundleRun = { readonly landed: true; readonly runs: readonly Run[] }

/** Options of a simulation. */
export type SimulationRules = {
  /** Whether signatures are verified. */
  readonly isVerified: boolean
  /** Whether any blockhash is accepted. */
  readonly isAnyBlockhash: boolean
}

/** Which blockhashes a run accepts. */
type BlockhashRules = {
  readonly isAnyBlockhash?: boolean
  /** Height of the last block whose hash is known. */
  readonly newestHeight?: number
}

const alreadyProcessed = (): Refusal =>
  refuse('AlreadyProcessed', [], 'This transaction has already been processed')

/** Checks transactions and executes them on the virtual machine. */
export class TransactionRunner {
  private readonly machine: Machine
  private readonly recency: Recency

  constructor(machine: Machine, recency: Recency) {
    this.machine = machine
    this.recency = recency
  }

  /** `beforeWrite` is called before the execution with every account that it can write. */
  run(
    bytes: Uint8Array,
    beforeWrite: (pubkey: Uint8Array) => void = () => {},
    { isAnyBlockhash = false, newestHeight = Infinity }: BlockhashRules = {},
  ): Run | Refusal {
    let transaction: ParsedTransaction
    try {
      transaction = parseTransaction(bytes)
    } catch (error) {
      if (error instanceof TransactionFormatError)
        return refuse('SanitizeFailure', [], error.message)
      throw error
    }
    const signature = transaction.signatures[0]
    if (signature === undefined) return refuse('SanitizeFailure', [], 'no signature')
    if (!isAnyBlockhash && this.recency.ageOf(transaction, newestHeight) !== 'recent')
      return refuse('BlockhashNotFound', [], 'Blockhash not found')
    if (this.recency.isProcessed(signature)) return alreadyProcessed()
    const result = executeTransaction(transaction, this.machine, beforeWrite)
    return result.landed ? { ...result, transaction, signature } : result
  }

  /** Executes, calls `inspect` on the result, and rolls every account back. */
  simulate<T>(
    bytes: Uint8Array,
    { isVerified, ...blockhashRules }: SimulationRules & BlockhashRules,
    inspect: () => T,
  ): { readonly run: Run | Refusal; readonly inspected: T } {
    const { svm } = this.machine
    const undo = new Map<string, () => void>()
    const wasVerified = svm.getSigverify()
    svm.setSigverify(isVerified)
    try {
      const run = this.run(bytes, key => this.saveOnce(key, undo), blockhashRules)
      return { run, inspected: inspect() }
    } finally {
      svm.setSigverify(wasVerified)
      for (const restore of undo.values()) restore()
    }
  }

  /**
   * Executes the members in order. Rolls every account back where one is refused or fails, or where
   * `isAccepted` returns false.
   */
  runBundle(members: readonly Uint8Array[], isAccepted: () => boolean): BundleRun | BundleRefusal {
    const undo = new Map<string, () => void>()
    const runs: Run[] = []
    const rollBack = (index: number, refusal: Refusal): BundleRefusal => {
      for (const restore of undo.values()) restore()
      return { ...refusal, index }
    }
    for (const [index, bytes] of members.entries()) {
      const run = this.run(bytes, key => this.saveOnce(key, undo))
      if (!run.landed) return rollBack(index, run)
      const { error, logs } = run.outcome
      if (error !== undefined) return rollBack(index, refuse(error, logs))
      if (runs.some(({ signature }) => isSameBytes(signature, run.signature)))
        return rollBack(index, alreadyProcessed())
      runs.push(run)
    }
    if (!isAccepted())
      return rollBack(
        members.length - 1,
        refuse('CommitCancelled', [], 'the outcome was not accepted'),
      )
    return { landed: true, runs }
  }

  /** Saves an account the first time only: later an earlier member may have written it. */
  private saveOnce(pubkey: Uint8Array, undo: Map<string, () => void>): void {
    const id = toMapKey(pubkey)
    if (undo.has(id)) return
    const { accounts, tokens } = this.machine
    const restore = accounts.save(pubkey)
    const state = accounts.get(pubkey) ?? CLOSED
    undo.set(id, () => {
      restore()
      tokens.record(pubkey, state)
    })
  }
}

import { isSameBytes, toMapKey } from '../solana/addresses.js'
import {
  executeTransaction,
  type Execution,
  type Machine,
  refuse,
  type Refusal,
} from './execute-transaction.js'
import {
  parseTransaction,
  type ParsedTransaction,
  TransactionFormatError,
} from '../solana/parse-transaction.js'
import type { Recency } from './recency.js'
import { CLOSED } from './svm-accounts.js'

/** A transaction that ran and is not yet said to anybody. */
export type Run = Execution & {
  readonly transaction: ParsedTransaction
  readonly signature: Uint8Array
}

/** Why nothing of a bundle happened, and which member was at fault. */
export type BundleRefusal = Refusal & { readonly index: number }

/** All runs of a bundle. */
export type BundleRun = { readonly landed: true; readonly runs: readonly Run[] }

/** What a simulation looks at beside the outcome. */
export type SimulationRules = {
  /** Whether a wrong signature is a failure. */
  readonly isVerified: boolean
  /** Whether the blockhash may be one that no transaction can land with. */
  readonly isAnyBlockhash: boolean
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

  /** `beforeWrite` hears of every account that it may write, before it does. */
  run(
    bytes: Uint8Array,
    beforeWrite: (pubkey: Uint8Array) => void = () => {},
    isAnyBlockhash = false,
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
    if (!isAnyBlockhash && this.recency.ageOf(transaction) !== 'recent')
      return refuse('BlockhashNotFound', [], 'Blockhash not found')
    if (this.recency.isProcessed(signature)) return alreadyProcessed()
    const result = executeTransaction(transaction, this.machine, beforeWrite)
    return result.landed ? { ...result, transaction, signature } : result
  }

  /** Runs, lets `inspect` look at what that did, and makes every account again what it was. */
  simulate<T>(
    bytes: Uint8Array,
    { isVerified, isAnyBlockhash }: SimulationRules,
    inspect: () => T,
  ): { readonly run: Run | Refusal; readonly seen: T } {
    const { svm } = this.machine
    const undo = new Map<string, () => void>()
    const wasVerified = svm.getSigverify()
    svm.setSigverify(isVerified)
    try {
      const run = this.run(bytes, key => this.saveOnce(key, undo), isAnyBlockhash)
      return { run, seen: inspect() }
    } finally {
      svm.setSigverify(wasVerified)
      for (const restore of undo.values()) restore()
    }
  }

  /**
   * One behind the other. Where one is refused or fails, or `isWanted` does not like what they did
   * together, every account is again what it was.
   */
  runBundle(members: readonly Uint8Array[], isWanted: () => boolean): BundleRun | BundleRefusal {
    const undo = new Map<string, () => void>()
    const runs: Run[] = []
    const giveUp = (index: number, refusal: Refusal): BundleRefusal => {
      for (const restore of undo.values()) restore()
      return { ...refusal, index }
    }
    for (const [index, bytes] of members.entries()) {
      const run = this.run(bytes, key => this.saveOnce(key, undo))
      if (!run.landed) return giveUp(index, run)
      const { error, logs } = run.outcome
      if (error !== undefined) return giveUp(index, refuse(error, logs))
      if (runs.some(({ signature }) => isSameBytes(signature, run.signature)))
        return giveUp(index, alreadyProcessed())
      runs.push(run)
    }
    if (!isWanted())
      return giveUp(members.length - 1, refuse('CommitCancelled', [], 'nobody wanted the outcome'))
    return { landed: true, runs }
  }

  /** Only the first time counts: an earlier member may have written the account since. */
  private saveOnce(pubkey: Uint8Array, undo: Map<string, () => void>): void {
    const id = toMapKey(pubkey)
    if (undo.has(id)) return
    const { accounts, tokens } = this.machine
    const restore = accounts.save(pubkey)
    const state = accounts.get(pubkey) ?? CLOSED
    undo.set(id, () => {
      restore()
      tokens.note(pubkey, state)
    })
  }
}

import { encodePubkey } from '../../native/encoding.js'
import type { ComparedRows, Corrections } from '../../native/corrections.js'
import type { Rpc } from './client.js'
import type { Options } from './options.js'
import type { FeedLine } from '../feed/source.js'

/** Events of a sweep. Listeners must not throw. */
export type SweepListeners = {
  compared(rows: ComparedRows): void
  /** Number of wrong accounts that were corrected. */
  corrected(count: number): void
  /** One pass over the whole store is complete. */
  round(seconds: number): void
  failed(): void
  log(line: FeedLine): void
}

/** Dependencies of a sweep. */
export type SweepParts = {
  readonly rpc: Rpc
  /** The live store, which a bootstrap may replace. */
  readonly store: () => Corrections
  readonly on: SweepListeners
  readonly signal: AbortSignal
  readonly now: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>
}

const KEY_BYTES = 32
/** An empty store is read again after this: its first block takes some slots. */
const EMPTY_MS = 1_000

class Sweep {
  private readonly options: Options
  private readonly parts: SweepParts
  private after: Uint8Array | undefined
  private beganMs = 0
  private isFailing = false
  private corrected = 0

  constructor(options: Options, parts: SweepParts) {
    this.options = options
    this.parts = parts
  }

  async run(): Promise<void> {
    const { signal, sleep, now } = this.parts
    this.beganMs = now()
    while (!signal.aborted)
      try {
        await sleep(await this.step(), signal)
      } catch (error) {
        if (signal.aborted) return
        this.fail(error)
        await sleep(this.options.sweepPauseMs, signal).catch(() => undefined)
      }
  }

  /** Compares the next accounts. Returns the wait before the following ones. */
  private async step(): Promise<number> {
    const { keysPerCallMax: keysMax, sweepBytesMax: bytesMax, sweepKeysPerSecond } = this.options
    const { rpc, store, on, now } = this.parts
    this.reportCorrected()
    const keys = store().storedKeys(this.after, { keysMax, bytesMax })
    if (keys.length === 0) return this.startAgain()
    const count = keys.length / KEY_BYTES
    const texts = Array.from({ length: count }, (_, i) =>
      encodePubkey(keys.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES)),
    )
    const begunMs = now()
    const config = { encoding: this.options.encoding, commitment: 'confirmed' }
    const question = {
      method: 'getMultipleAccounts',
      params: [texts, config],
      what: `${count} accounts of the sweep`,
      wanted: { kind: 'positional', keys } as const,
    }
    await rpc.ask(question, rows => this.compare(rows))
    this.after = keys.subarray(keys.length - KEY_BYTES)
    if (this.isFailing) {
      this.isFailing = false
      on.log({ level: 'info', text: 'sweep continues' })
    }
    return Math.max(0, (count * 1000) / sweepKeysPerSecond - (now() - begunMs))
  }

  private compare(rows: Uint8Array): void {
    this.parts.on.compared(this.parts.store().compareRows(rows, this.options.sweepWaitingBytesMax))
  }

  /**
   * Does not report differences that later blocks explain, because the upstream was ahead of the
   * tip.
   */
  private reportCorrected(): void {
    const { corrected } = this.parts.store().correctionCounts()
    // A new store counts from 0.
    const count = corrected - (corrected < this.corrected ? 0 : this.corrected)
    this.corrected = corrected
    if (count === 0) return
    const { on } = this.parts
    on.corrected(count)
    on.log({ level: 'warn', text: `sweep corrected ${count} accounts that the feed had missed` })
  }

  private startAgain(): number {
    const { on, now } = this.parts
    const isEmpty = this.after === undefined
    this.after = undefined
    if (!isEmpty) on.round((now() - this.beganMs) / 1000)
    this.beganMs = now()
    return isEmpty ? EMPTY_MS : 0
  }

  /** Reports once that the sweep has stopped. The store is unaffected. */
  private fail(error: unknown): void {
    const { on } = this.parts
    on.failed()
    if (this.isFailing) return
    this.isFailing = true
    const text = error instanceof Error ? error.message : String(error)
    on.log({ level: 'warn', text: `sweep failed, retrying: ${text}` })
  }
}

/**
 * Compares every stored account with an upstream RPC, repeatedly and at a limited rate, and lets
 * the store correct changes that the feed missed. Resolves when the signal aborts; failures do not
 * end it.
 */
export const runSweep = (options: Options, parts: SweepParts): Promise<void> =>
  new Sweep(options, parts).run()

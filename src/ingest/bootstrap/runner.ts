import type { BootstrapStatus } from '../../shared/indexer-status.js'
import { currentGeneration } from '../../storage/generations.js'
import { runAttempt, type RunnerParts } from './attempt.js'
import { BootstrapCancelled, SpoolLost, type BootstrapPlan } from './bootstrap.js'
import { SnapshotUnavailable } from './snapshot-location.js'
import { RunRecord } from './run-record.js'
import {
  BOOTSTRAP_DIR,
  forgetCancel,
  forgetRequest,
  readCancel,
  readRequest,
  type BootstrapRequest,
} from './state.js'

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/**
 * Runs one network's bootstraps, one at a time. A bootstrap is `running` until it is `done`,
 * `failed` or `cancelled`; one that a killed process left `running` is resumed.
 */
export class BootstrapRunner {
  private readonly parts: RunnerParts
  private readonly record: RunRecord
  private readonly stopping = new AbortController()
  /** Cancels the bootstrap that runs. */
  private cancelling = new AbortController()
  private running: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined

  constructor(parts: RunnerParts) {
    this.parts = parts
    this.record = new RunRecord(parts.stores, parts.log, parts.onStatus)
  }

  /**
   * Runs a plan until its store is the live one, or joins the bootstrap that runs. Rejects with the
   * reason where that fails: `SnapshotUnavailable` where nothing was loaded because the server of
   * the snapshots is not reachable, `BootstrapCancelled` where an operator cancelled it.
   */
  run(plan: BootstrapPlan, signal?: AbortSignal): Promise<void> {
    // The running one makes a newer store, too, whatever its plan is.
    if (this.running !== undefined) return this.running
    const signals = signal === undefined ? [] : [signal]
    return this.begin({ id: `repair-${Date.now()}`, plan }, signals)
  }

  /** Resumes what a killed process left, and polls for requests. */
  watch(): void {
    this.settleLeft()
    // A failure is in the status and in the log.
    if (this.record.isRunning) this.start([]).catch(() => {})
    this.timer = setInterval(() => this.poll(), this.parts.options.pollMs)
    this.timer.unref()
    this.poll()
  }

  status(): BootstrapStatus | undefined {
    return this.record.current?.status
  }

  /**
   * Whether an operator cancelled the last bootstrap and the live store has had no block since: no
   * repair may start one by itself.
   */
  isAutoRepairSuspended(): boolean {
    const { current } = this.record
    return current?.status.state === 'cancelled' && current.cancelledAtSlot === this.parts.tipSlot()
  }

  /** Folders among the stores that the running bootstrap owns. */
  folders(): readonly string[] {
    const { current } = this.record
    return current !== undefined && this.record.isRunning ? [BOOTSTRAP_DIR, current.generation] : []
  }

  /** Ends what runs; the next process resumes it. */
  async stop(): Promise<void> {
    clearInterval(this.timer)
    this.stopping.abort(new Error('the process is stopping'))
    await this.running?.catch(() => {})
  }

  private begin(request: BootstrapRequest, signals: readonly AbortSignal[]): Promise<void> {
    this.record.begin(request)
    return this.start(signals)
  }

  private start(signals: readonly AbortSignal[]): Promise<void> {
    this.cancelling = new AbortController()
    const all = [...signals, this.stopping.signal, this.cancelling.signal]
    this.running = this.runAttempts(AbortSignal.any(all), this.cancelling.signal).finally(
      () => (this.running = undefined),
    )
    return this.running
  }

  private async runAttempts(signal: AbortSignal, cancelled: AbortSignal): Promise<void> {
    const { parts, record } = this
    const { attemptsMax } = parts.options
    for (let { current } = record; current !== undefined; current = record.current) {
      const { attempts } = current.status
      if (attempts >= attemptsMax)
        throw this.fail(`it was started ${attempts} times and never completed`)
      record.change({ attempts: attempts + 1 })
      try {
        await runAttempt(parts, record, current, signal)
        return this.finish()
      } catch (error) {
        this.onAttemptFailed(error, attempts, cancelled)
      }
    }
  }

  /** Returns where another attempt may succeed; otherwise throws how the bootstrap ended. */
  private onAttemptFailed(error: unknown, attempts: number, cancelled: AbortSignal): void {
    const { log } = this.parts
    if (cancelled.aborted) throw this.cancel(messageOf(cancelled.reason))
    if (this.stopping.signal.aborted) {
      log.info('bootstrap stops with its process; the next process resumes it')
      // It did not fail, so it is not counted.
      this.record.change({ attempts })
      throw this.stopping.signal.reason
    }
    if (!(error instanceof SpoolLost)) {
      const failure = this.fail(messageOf(error))
      throw error instanceof SnapshotUnavailable ? error : failure
    }
    log.warn({ reason: error.message }, 'bootstrap restarts: its spooled blocks have a gap')
    this.record.restartSteps()
  }

  private finish(): void {
    // Files first, so that none are left when the status is `done`. After a kill in between the
    // next start finishes this.
    this.record.removeWork()
    const nowMs = Date.now()
    this.record.change({ step: 'live', state: 'done', stepAtMs: nowMs, endedAtMs: nowMs })
    this.parts.log.info({ generation: this.record.current?.generation }, 'bootstrap is done')
  }

  private fail(reason: string): Error {
    this.parts.log.error({ reason }, 'bootstrap failed')
    this.record.removeStore()
    this.record.change({ state: 'failed', reason, endedAtMs: Date.now() })
    return new Error(reason)
  }

  /** Removes the request to cancel last: a kill before that repeats all of this. */
  private cancel(reason: string): BootstrapCancelled {
    const { log, stores, tipSlot } = this.parts
    const { current } = this.record
    log.info({ reason, step: current?.status.step }, 'bootstrap is cancelled')
    this.record.removeStore()
    const ended = { state: 'cancelled', reason, endedAtMs: Date.now() } as const
    const isSaved = this.record.change(ended, { cancelledAtSlot: tipSlot() })
    if (isSaved && current !== undefined) forgetCancel(stores, current.request.id)
    return new BootstrapCancelled(reason)
  }

  /** Settles what a killed process did not record, and removes its files. */
  private settleLeft(): void {
    const { stores } = this.parts
    const { current, isRunning } = this.record
    if (current === undefined || !isRunning) this.record.removeWork()
    // It was killed after its store became the live one.
    else if (current.generation === currentGeneration(stores)) this.finish()
    else {
      const request = readCancel(stores)
      if (request?.id === current.request.id) this.cancel(request.reason)
    }
  }

  private poll(): void {
    const request = readRequest(this.parts.stores)
    if (request !== undefined) this.onRequest(request)
    this.pollCancel()
  }

  private onRequest(request: BootstrapRequest): void {
    const { log, stores } = this.parts
    if (request.id !== this.record.current?.request.id) {
      if (this.running === undefined) this.begin(request, []).catch(() => {})
      else log.warn('a bootstrap was requested while another one runs')
    }
    // After its state is saved, so that a kill does not lose it; and never a newer request.
    if (readRequest(stores)?.id === request.id) forgetRequest(stores)
  }

  private pollCancel(): void {
    const { stores } = this.parts
    const request = readCancel(stores)
    // Where its bootstrap has not started yet, the next poll sees both.
    if (request === undefined || request.id === readRequest(stores)?.id) return
    const { current } = this.record
    const isThis = request.id === current?.request.id
    if (isThis && this.running !== undefined) this.cancelling.abort(new Error(request.reason))
    // Saved again where the disk was full: otherwise the next process would resume it.
    else if (!isThis || current?.status.state !== 'cancelled' || this.record.save())
      forgetCancel(stores, request.id)
  }
}

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { BootstrapStatus, StepProgress } from '../../shared/indexer-status.js'
import { printableLocation } from '../../shared/indexer-status.js'
import type { Log } from '../../shared/log.js'
import { currentGeneration, nextGeneration } from '../../storage/generations.js'
import type { BootstrapPlan } from './bootstrap.js'
import {
  BOOTSTRAP_DIR,
  readState,
  writeState,
  type BootstrapRequest,
  type BootstrapState,
} from './state.js'

const locationsOf = (plan: BootstrapPlan): readonly string[] =>
  plan.kind === 'snapshot' ? plan.locations : plan.kind === 'incremental' ? [plan.location] : []

const toStatus = ({ id, plan }: BootstrapRequest, nowMs: number): BootstrapStatus => ({
  id,
  kind: plan.kind,
  locations: locationsOf(plan).map(printableLocation),
  step: 'spool',
  state: 'running',
  attempts: 0,
  begunAtMs: nowMs,
  stepAtMs: nowMs,
})

/** The state of a network's last bootstrap, in memory and on disk, and the files that it owns. */
export class RunRecord {
  private readonly stores: string
  private readonly log: Log
  private readonly onStatus: (status: BootstrapStatus) => void
  private state: BootstrapState | undefined

  constructor(stores: string, log: Log, onStatus: (status: BootstrapStatus) => void) {
    this.stores = stores
    this.log = log
    this.onStatus = onStatus
    this.state = readState(stores)
  }

  get current(): BootstrapState | undefined {
    return this.state
  }

  get isRunning(): boolean {
    return this.state?.status.state === 'running'
  }

  /** Folder of the spool, and of what is sorted or copied. */
  get workDir(): string {
    return join(this.stores, BOOTSTRAP_DIR)
  }

  /** Replaces the last bootstrap by a new one. */
  begin(request: BootstrapRequest): void {
    this.removeWork()
    const status = toStatus(request, Date.now())
    this.state = { request, generation: nextGeneration(this.stores), status }
    this.change({})
  }

  /** Applies a change and announces it. Answers whether it is on disk. */
  change(status: Partial<BootstrapStatus>, more: Partial<BootstrapState> = {}): boolean {
    if (this.state === undefined) return false
    const { progress, ...before } = this.state.status
    // The progress of one step means nothing to the next.
    const kept = status.step === undefined && progress !== undefined ? { progress } : {}
    this.state = { ...this.state, ...more, status: { ...before, ...kept, ...status } }
    const isSaved = this.save()
    this.onStatus(this.state.status)
    return isSaved
  }

  /** In memory only: the status file shows it. */
  showProgress(progress: StepProgress): void {
    if (this.state !== undefined)
      this.state = { ...this.state, status: { ...this.state.status, progress } }
  }

  /** Returns to the first step with the same number of attempts. */
  restartSteps(): void {
    if (this.state === undefined) return
    this.removeStore()
    const { loaded: _loaded, ...rest } = this.state
    this.state = rest
    this.change({ step: 'spool', stepAtMs: Date.now() })
  }

  /** Answers whether the state is on disk. */
  save(): boolean {
    if (this.state === undefined) return false
    try {
      writeState(this.stores, this.state)
      return true
    } catch (error) {
      // A full disk does not end it; after a kill the next process resumes from an earlier step.
      this.log.warn({ err: error }, 'the state of a bootstrap cannot be saved')
      return false
    }
  }

  /** Removes the store, unless it is live by now, and all work files. */
  removeStore(): void {
    this.removeDraftStore()
    this.removeWork()
  }

  /** Removes the store and a copy, but not the spooled blocks and what a load has sorted. */
  removeLoaded(): void {
    this.removeDraftStore()
    rmSync(join(this.workDir, 'copy'), { recursive: true, force: true })
  }

  /** Removes what a load has sorted, which a complete store does not need. */
  removeSorted(): void {
    rmSync(join(this.workDir, 'sort'), { recursive: true, force: true })
  }

  removeWork(): void {
    rmSync(this.workDir, { recursive: true, force: true })
  }

  private removeDraftStore(): void {
    const { generation } = this.state ?? {}
    if (generation !== undefined && generation !== currentGeneration(this.stores))
      rmSync(join(this.stores, generation), { recursive: true, force: true })
  }
}

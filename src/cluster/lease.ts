import { setTimeout as sleep } from 'node:timers/promises'
import type { AccessStore } from '../access/store/access-store.js'
import type { ClusterState } from '../access/store/tables.js'
import type { Log } from '../shared/log.js'
import type { Etcd, KeyValue } from './etcd/client.js'
import type { Follower } from './follower.js'
import { LOST, markBroken } from './broken.js'
import { BROKEN, type Keys } from './keys.js'
import type { Options } from './options.js'
import { format, readBeat, type Description } from './values.js'

/** Part of the lease that a machine uses: the rest covers clocks whose rates differ. */
const USED_PART = 0.9
/** Clocks of two machines differ by up to one part in a hundred in rate. */
const CLOCK_FACTOR = 1.01

/** Longest time from the last proof of a lease to its end, by the clock of another machine. */
export const longestLeaseMs = (leaseMs: number): number => Math.ceil(leaseMs * CLOCK_FACTOR)

export type LeaseParts = {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly machine: string
  readonly store: AccessStore
  readonly follower: Follower
  readonly options: Options
  readonly logger: Log
  /** Milliseconds of the boot clock. */
  readonly bootMs: () => number
  /** Resolves when every edge confirmed what has been announced. */
  readonly confirmed: () => Promise<void>
  readonly setLeaseEnd: (bootMs: number) => void
  /** What others learn of this machine with each proof. */
  readonly describe: () => Description
  /** Why etcd cannot be called, where that is known, and what to do; never rejects. */
  readonly explain: () => Promise<string | undefined>
  /** This process must end: another one runs as this machine, or it must join again. */
  readonly onReplaced: (message: string) => void
}

/** Why a machine holds no lease. */
class NotProvedError extends Error {}

/**
 * Proves again and again that the access store of this machine is current. Each proof is a change
 * of the machine's own key at revision S, after which all changes up to S are applied and confirmed
 * by every edge; it is valid from a time before it was asked for.
 */
export class Lease {
  private readonly parts: LeaseParts
  private readonly stopping = new AbortController()
  private state: ClusterState
  private isDue = false
  private wake = (): void => {}
  private running = Promise.resolve()
  private problem: string | undefined
  private message: string | undefined
  /** What is wrong with a certificate; undefined if nothing is. */
  private explained: string | undefined
  private explainedMs = -Infinity

  constructor(parts: LeaseParts, state: ClusterState) {
    this.parts = parts
    this.state = state
  }

  start(): void {
    this.running = this.run()
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    this.wake()
    await this.running
  }

  /** Why the last proof failed; undefined if it did not. */
  get reason(): string | undefined {
    return this.message
  }

  /** Proves it now, so that others learn what was applied. */
  prove(): void {
    this.isDue = true
    this.wake()
  }

  private async run(): Promise<void> {
    const { options, logger } = this.parts
    while (!this.stopping.signal.aborted) {
      this.isDue = false
      try {
        await this.beat()
        if (this.problem !== undefined) logger.info('the accesses are proved to be current again')
        this.problem = this.message = undefined
      } catch (error) {
        this.onFailure(error)
      }
      await this.pause(this.problem === undefined ? options.beatMs : options.retryMs)
    }
  }

  /** Logs each cause once; how etcd does not answer may differ from one attempt to the next. */
  private onFailure(error: unknown): void {
    const { logger } = this.parts
    const isRefused = error instanceof NotProvedError
    const problem = isRefused ? error.message : 'etcd'
    if (problem !== this.problem)
      logger.error({ err: error }, 'the accesses cannot be proved to be current')
    this.problem = problem
    if (!isRefused) this.lookUp()
    const message = error instanceof Error ? error.message : String(error)
    this.message = isRefused ? message : (this.explained ?? message)
  }

  /** Looks up why etcd cannot be called, once in a lease; the next attempt does not wait for it. */
  private lookUp(): void {
    const { bootMs, explain, logger, options } = this.parts
    if (bootMs() - this.explainedMs < options.leaseMs) return
    this.explainedMs = bootMs()
    void explain().then(reason => {
      const isNew = reason !== undefined && reason !== this.explained
      if (isNew && this.problem === 'etcd') logger.error({ reason }, 'etcd cannot be called')
      this.explained = reason
    })
  }

  /** Waits for the next proof, which a change may ask for earlier. */
  private async pause(waitMs: number): Promise<void> {
    if (this.isDue || this.stopping.signal.aborted) return
    const timeout = new AbortController()
    const woken = new Promise<void>(resolve => (this.wake = resolve))
    await Promise.race([woken, sleep(waitMs, undefined, timeout).catch(() => {})])
    timeout.abort()
  }

  private async beat(): Promise<void> {
    const { bootMs, confirmed, follower, options, setLeaseEnd } = this.parts
    // In this order: what was applied before is what the edges confirm.
    const { applied } = follower
    await confirmed()
    const startedMs = bootMs()
    const revision = await this.put(applied)
    if (revision <= applied) await this.lose()
    if (!(await follower.untilApplied(revision, options.callMs))) {
      follower.restart()
      throw new NotProvedError(`etcd does not send the changes up to revision ${revision}`)
    }
    await confirmed()
    setLeaseEnd(startedMs + USED_PART * options.leaseMs)
  }

  /** Changes this machine's key; returns the revision of that. */
  private async put(applied: number): Promise<number> {
    const { describe, etcd, keys, machine } = this.parts
    const { added, epoch, instance, lastBeat } = this.state
    const key = keys.beat(machine)
    const { isDone, revision, found } = await etcd.transact(
      [
        { key: keys.epoch, value: epoch },
        { key: keys.machine(machine), createRevision: added },
        { key, modRevision: lastBeat },
      ],
      [{ put: key, value: format({ ...describe(), instance, applied }) }],
      [{ get: keys.epoch }, { get: keys.machine(machine) }, { get: key }],
    )
    if (!isDone) return this.explain(found)
    await this.remember(revision)
    return revision
  }

  /** Why a proof was refused; where the answer to the last one was lost, the next one succeeds. */
  private async explain([epoch, machine, beat]: readonly (KeyValue | undefined)[]): Promise<never> {
    const { parts, state } = this
    const { machine: id } = parts
    const found = epoch?.value.toString()
    if (found === BROKEN) throw new NotProvedError(`the cluster is broken: ${LOST}`)
    if (found !== state.epoch) throw new NotProvedError('etcd has another cluster of this id')
    if (machine === undefined)
      throw new NotProvedError(`machine ${id} was removed from the cluster`)
    if (machine.createRevision !== state.added)
      return this.end(`machine ${id} was removed and added again; it joins again`)
    if (beat === undefined || beat.modRevision < state.lastBeat) return this.lose()
    if (readBeat(beat.value)?.instance !== state.instance)
      return this.end(`another data directory runs as machine ${id}; stop one of them`)
    await this.remember(beat.modRevision)
    throw new NotProvedError('the answer to a proof was lost')
  }

  private end(message: string): never {
    this.parts.onReplaced(message)
    throw new NotProvedError(message)
  }

  /** etcd went back. */
  private async lose(): Promise<never> {
    await markBroken(this.parts.etcd, this.parts.keys)
    throw new NotProvedError(LOST)
  }

  /** Stores it, so that a restart notices when etcd went back. */
  private async remember(revision: number): Promise<void> {
    const { store } = this.parts
    this.state = { ...this.state, lastBeat: revision }
    await store.transaction(() => store.setCluster(this.state))
  }
}

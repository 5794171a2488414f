import { setTimeout as sleep } from 'node:timers/promises'
import type { ChangeEffect, EdgeNotifier } from '../access/service.js'
import { RpcError } from '../shared/errors.js'
import type { Log } from '../shared/log.js'
import { CompactedError, EtcdError, type Etcd, type KeyValue } from './etcd/client.js'
import type { EtcdJournal, Known } from './etcd-journal.js'
import type { Keys } from './keys.js'
import { longestLeaseMs } from './lease.js'
import type { Options } from './options.js'
import { parseMachine, readBeat } from './values.js'

export type MachineNotifierParts = {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly journal: Pick<EtcdJournal, 'known' | 'prove'>
  readonly options: Options
  /** Resolves when this process reads a revision, or after a time. */
  readonly untilFollowed: (revision: number, limitMs: number) => Promise<void>
  /** Milliseconds of the boot clock. */
  readonly bootMs: () => number
  /** Unix milliseconds. */
  readonly now: () => number
  readonly logger: Log
}

type Confirmations = {
  readonly ids: readonly string[] | undefined
  readonly confirmed: ReadonlySet<string>
}

/** Waits until a change is in effect on every machine of its locations. */
export class MachineNotifier implements EdgeNotifier {
  private readonly parts: MachineNotifierParts

  constructor(parts: MachineNotifierParts) {
    this.parts = parts
  }

  /** Machines find the change by themselves; the call waits a moment until they have. */
  async announce(locations: readonly string[]): Promise<void> {
    const { bootMs, options } = this.parts
    const endMs = bootMs() + options.announceMs
    const { revision } = await this.lastKnown()
    await Promise.all([
      this.confirm(revision, locations, { endMs, giveUpMs: endMs }),
      this.settle(),
    ])
  }

  settle(): Promise<void> {
    const { journal, options, untilFollowed } = this.parts
    return untilFollowed(journal.known.revision, options.announceMs)
  }

  /**
   * Resolves when no machine lets anything succeed any more that the last change forbids; or with
   * when that will be so, where it takes longer than `waitMs`.
   */
  async awaitAcknowledged(locations: readonly string[]): Promise<ChangeEffect> {
    const { bootMs, logger, now, options } = this.parts
    const { revision, atMs } = await this.lastKnown()
    const leaseMs = longestLeaseMs(options.leaseMs)
    // Not after the call: the change may have been made long before.
    const leaseEndMs = atMs + leaseMs
    const waitEndMs = bootMs() + options.waitMs
    const giveUpMs = bootMs() + Math.min(leaseMs, options.waitMs)
    const [{ ids, confirmed }] = await Promise.all([
      this.confirm(revision, locations, { endMs: Math.min(leaseEndMs, waitEndMs), giveUpMs }),
      this.settle(),
    ])
    // Not even which machines there are.
    if (ids === undefined) throw new RpcError('notConfirmed')
    // A timer may be early, by as long as the event loop was busy when it was set.
    const isWaited = leaseEndMs <= waitEndMs && !ids.every(id => confirmed.has(id))
    while (isWaited && bootMs() < leaseEndMs) await sleep(Math.ceil(leaseEndMs - bootMs()))
    const machines = ids.map(id => ({
      id,
      by: confirmed.has(id) ? ('confirmed' as const) : ('lease' as const),
    }))
    const leftMs = Math.ceil(leaseEndMs - bootMs())
    const isPending = leftMs > 0 && machines.some(({ by }) => by === 'lease')
    logger.info({ revision, machines, isPending }, 'a change of accesses is in effect')
    return { revision, atMs: now() + (isPending ? leftMs : 0), isPending, machines }
  }

  /** Of the last change that this process made or found, or else any that includes earlier ones. */
  private async lastKnown(): Promise<Known> {
    const { bootMs, journal } = this.parts
    if (journal.known.revision > 0) return journal.known
    const revision = await journal.prove()
    return { revision, atMs: bootMs() }
  }

  /**
   * Asks which machines in these locations have applied a revision, until all have or `endMs`, and
   * once where that has passed. While etcd does not answer it asks again, until `giveUpMs`; the ids
   * are undefined if it never does.
   */
  private async confirm(
    revision: number,
    locations: readonly string[],
    { endMs, giveUpMs }: { readonly endMs: number; readonly giveUpMs: number },
  ): Promise<Confirmations> {
    const { bootMs, logger, options } = this.parts
    let ids: readonly string[] | undefined
    const confirmed = new Set<string>()
    do {
      try {
        ids ??= await this.machinesAt(revision, locations)
        await this.untilApplied(revision, ids, confirmed, endMs)
        break
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error
        logger.warn({ err: error }, 'machines cannot be asked whether a change is in effect')
        await sleep(Math.min(options.retryMs, Math.max(0, giveUpMs - bootMs())))
      }
    } while (bootMs() < giveUpMs)
    return { ids, confirmed }
  }

  /** Those that were there at a revision, or are now where etcd does not have that any more. */
  private async machinesAt(
    atRevision: number,
    locations: readonly string[],
  ): Promise<readonly string[]> {
    const { etcd, keys, options } = this.parts
    const limit = options.pageAccessesMax
    const { found } = await etcd.list(keys.machines, { limit, atRevision }).catch(error => {
      // The lease of a machine has ended before it is removed, and one that was added later has
      // read what there was then.
      if (error instanceof CompactedError) return etcd.list(keys.machines, { limit })
      throw error
    })
    return found
      .filter(({ value }) => locations.includes(parseMachine(value).location))
      .map(({ key }) => key.slice(keys.machines.length))
  }

  /** Adds the machines that have applied the revision, until all have or the time has come. */
  private async untilApplied(
    revision: number,
    ids: readonly string[],
    confirmed: Set<string>,
    endMs: number,
  ): Promise<void> {
    const { bootMs, etcd, keys, options } = this.parts
    const take = ({ key, value }: KeyValue): boolean => {
      if ((readBeat(value)?.applied ?? 0) >= revision) confirmed.add(key.slice(keys.beats.length))
      return ids.every(id => confirmed.has(id))
    }
    if (ids.length === 0) return
    const now = await etcd.list(keys.beats, { limit: options.pageAccessesMax })
    if (now.found.map(take).includes(true) || bootMs() >= endMs) return
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), Math.max(0, endMs - bootMs()))
    try {
      for await (const events of etcd.watch(keys.beats, now.revision + 1, timeout.signal))
        if (
          events
            .filter(({ isRemoved }) => !isRemoved)
            .map(take)
            .includes(true)
        )
          return
    } finally {
      clearTimeout(timer)
    }
  }
}

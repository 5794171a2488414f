import { setTimeout as sleep } from 'node:timers/promises'
import type { AccessJournal, Change, JournalEntry } from '../access/journal/access-journal.js'
import { createChangeId } from '../access/journal/change-id.js'
import { decodeAccess, encodeAccess } from '../access/store/access-codec.js'
import type { StoredAccess } from '../access/store/tables.js'
import type { RandomBytes } from '../access/tokens/location-token.js'
import { RpcError } from '../shared/errors.js'
import { CompactedError, EtcdError, type Etcd, type KeyValue } from './etcd/client.js'
import { BROKEN, type Keys } from './keys.js'
import type { Options } from './options.js'

/** Longest wait after a first conflict: several times what an attempt takes. */
const CONFLICT_MS = 10

export type EtcdJournalParts = {
  readonly etcd: Etcd
  readonly keys: Keys
  /** Changes are made in this cluster only. */
  readonly epoch: () => string
  readonly options: Options
  readonly randomBytes: RandomBytes
  /** Milliseconds of the boot clock. */
  readonly bootMs: () => number
}

/** A revision, and a time at which it had been made already, by the boot clock. */
export type Known = { readonly revision: number; readonly atMs: number }

/** The attempts at one change. */
type Attempts = {
  readonly changeId: string
  /**
   * Of those that were sent and not answered, the revision of the access that each would replace:
   * it was not made as long as the access is at that revision.
   */
  readonly unanswered: number[]
}

/** The access of a key below `access/`. */
export const toAccess = ({ value, modRevision }: KeyValue): StoredAccess => ({
  ...decodeAccess(value),
  revision: modRevision,
})

/** The journal of a cluster: one key of etcd for each access. */
export class EtcdJournal implements AccessJournal {
  private latest: Known = { revision: 0, atMs: 0 }
  private readonly parts: EtcdJournalParts

  constructor(parts: EtcdJournalParts) {
    this.parts = parts
  }

  /**
   * The latest revision at which an access was changed or found here: whoever waits for it waits
   * for all that an answer shows. 0 before the first.
   */
  get known(): Known {
    return this.latest
  }

  async propose(change: Change): Promise<StoredAccess> {
    const { attemptsMax, retryMs } = this.parts.options
    const attempts = { changeId: createChangeId(this.parts.randomBytes), unanswered: [] }
    /** Revisions of the access that an attempt found and could not replace. */
    const lostTo = new Set<number>()
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      try {
        const { changed, found } = await this.swap(change, attempts)
        if (changed !== undefined) return changed
        lostTo.add(found)
        await sleep(this.conflictWaitMs(attempt))
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error
        if (error.isDenied) throw new RpcError('changeDenied')
        // The next attempt reads whether this one was made after all.
        await sleep(retryMs)
      }
    }
    // Each attempt had an answer, and found another change that the one before had not.
    if (lostTo.size === attemptsMax) throw new RpcError('accessBusy')
    throw new RpcError(attempts.unanswered.length === 0 ? 'etcdSilent' : 'changeUnknown')
  }

  async *follow(after: number, signal: AbortSignal): AsyncGenerator<JournalEntry> {
    const { etcd, keys } = this.parts
    let seen = after
    while (!signal.aborted) {
      try {
        if (seen === 0) {
          const all = await this.readAll()
          yield all
          seen = all.revision
        }
        for await (const events of etcd.watch(keys.prefix, seen + 1, signal)) {
          for (const entry of toEntries(events, keys, seen)) {
            yield entry
            seen = entry.revision
          }
        }
      } catch (error) {
        if (!(error instanceof CompactedError)) throw error
        seen = 0
      }
    }
  }

  prove(): Promise<number> {
    return this.parts.etcd.prove(this.parts.keys.epoch)
  }

  private learn(revision: number): void {
    if (revision > this.latest.revision) this.latest = { revision, atMs: this.parts.bootMs() }
  }

  /** Random, so that two who change the same access do not stay in step. */
  private conflictWaitMs(attempt: number): number {
    const [byte = 0] = this.parts.randomBytes(1)
    return (byte / 255) * (attempt + 1) * CONFLICT_MS
  }

  /**
   * One attempt, and the revision that it found; without `changed` where another change came
   * between reading and writing.
   */
  private async swap(
    change: Change,
    { changeId, unanswered }: Attempts,
  ): Promise<{ readonly changed?: StoredAccess; readonly found: number }> {
    const { etcd, keys, epoch, options } = this.parts
    const key = keys.access(change.accessId)
    const { found } = await etcd.get(key)
    const current = found && toAccess(found)
    const revisionBefore = found?.modRevision ?? 0
    this.learn(revisionBefore)
    // The answer to an earlier attempt was lost.
    if (current?.changeId === changeId) return { changed: current, found: revisionBefore }
    const changed = { ...change.update(current), changeId, revision: 0 }
    const value = encodeAccess(changed)
    if (value.length > options.accessBytesMax)
      throw new RpcError('accessTooLong', { max: options.accessBytesMax })
    const own = epoch()
    unanswered.push(revisionBefore)
    const answer = await etcd.transact(
      [
        { key: keys.epoch, value: own },
        { key, modRevision: revisionBefore },
      ],
      [{ put: key, value }],
      [{ get: keys.epoch }, { get: key }],
    )
    unanswered.pop()
    const { isDone, revision } = answer
    if (isDone) {
      this.learn(revision)
      return { found: revisionBefore, changed: { ...changed, revision } }
    }
    const [epochNow, later] = answer.found
    if (epochNow?.value.toString() !== own) refuse(epochNow, later, { changeId, unanswered })
    return { found: revisionBefore }
  }

  private async readAll(): Promise<JournalEntry> {
    const { etcd, keys, options } = this.parts
    const { revision, found } = await etcd.list(keys.accesses, { limit: options.pageAccessesMax })
    return { revision, accesses: found.map(toAccess), isWhole: true }
  }
}

/** Throws because etcd takes no change of the epoch of these attempts any more. */
const refuse = (
  epoch: KeyValue | undefined,
  access: KeyValue | undefined,
  { changeId, unanswered }: Attempts,
): void => {
  // The next attempt finds it.
  if (access !== undefined && toAccess(access).changeId === changeId) return
  if (unanswered.some(revision => revision !== (access?.modRevision ?? 0)))
    throw new RpcError('changeUnknown')
  throw new RpcError(epoch?.value.toString() === BROKEN ? 'clusterBroken' : 'notInCluster')
}

/** The events of each revision after `seen`; what was seen may come again after a broken watch. */
const toEntries = (
  events: readonly (KeyValue & { readonly isRemoved: boolean })[],
  keys: Keys,
  seen: number,
): readonly JournalEntry[] => {
  const byRevision = new Map<number, StoredAccess[]>()
  for (const event of events) {
    if (event.modRevision <= seen) continue
    const accesses = byRevision.get(event.modRevision) ?? []
    byRevision.set(event.modRevision, accesses)
    // No access is ever removed.
    if (event.key.startsWith(keys.accesses) && !event.isRemoved) accesses.push(toAccess(event))
  }
  return Array.from(byRevision, ([revision, accesses]) => ({ revision, accesses }))
}

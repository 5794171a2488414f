import type { AccessStore } from '../access/store/access-store.js'
import type { Etcd, KeyValue } from './etcd/client.js'
import type { Keys } from './keys.js'

/** What etcd has of a cluster and one of its machines, as of one revision. */
export type Registered = {
  readonly revision: number
  readonly epoch: KeyValue | undefined
  readonly machine: KeyValue | undefined
  readonly beat: KeyValue | undefined
}

export const readRegistered = async (
  etcd: Etcd,
  keys: Keys,
  machine: string,
): Promise<Registered> => {
  const { revision, found } = await etcd.transact(
    [],
    [{ get: keys.epoch }, { get: keys.machine(machine) }, { get: keys.beat(machine) }],
  )
  const [epoch, record, beat] = found
  return { revision, epoch, machine: record, beat }
}

/**
 * What a data directory is to its cluster.
 *
 * - `first`: it has joined it as no machine yet.
 * - `member`: its machine is the one that it has joined as.
 * - `again`: its machine was removed, and one of the same id was added.
 * - `removed`: there is no machine of this id.
 */
export type Standing = {
  readonly kind: 'first' | 'member' | 'again' | 'removed'
  /** etcd has less than the data directory has seen: an older copy of its data was restored. */
  readonly isLost: boolean
}

/** Of a store that follows the cluster. Revisions only grow, unless etcd has lost data. */
export const standingOf = (
  { cluster, revision: applied }: Pick<AccessStore, 'cluster' | 'revision'>,
  { revision, machine, beat }: Registered,
): Standing => {
  const { added = 0, lastBeat = 0 } = cluster ?? {}
  const seen = Math.max(applied, lastBeat)
  const isOlder = revision < seen
  if (added === 0) return { kind: 'first', isLost: isOlder }
  if (machine === undefined) return { kind: 'removed', isLost: isOlder }
  if (machine.createRevision === added)
    return { kind: 'member', isLost: isOlder || (beat?.modRevision ?? 0) < lastBeat }
  // At the last proof another one was there. A process that still ran when it was added may have
  // applied later changes.
  return { kind: 'again', isLost: isOlder || machine.createRevision <= lastBeat }
}

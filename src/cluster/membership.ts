import { setTimeout as sleep } from 'node:timers/promises'
import { setAside } from '../access/store/set-aside.js'
import type { AccessStore } from '../access/store/access-store.js'
import type { ClusterState } from '../access/store/tables.js'
import { randomBase62, type RandomBytes } from '../access/tokens/location-token.js'
import type { Log } from '../shared/log.js'
import { EtcdError, type Etcd } from './etcd/client.js'
import { LOST, markBroken } from './broken.js'
import { BROKEN, type Keys } from './keys.js'
import type { Options } from './options.js'
import { placeOf } from './place.js'
import { readRegistered, standingOf, type Registered } from './standing.js'
import { parseMachine, readBeat } from './values.js'

const INSTANCE_CHARS = 16

/** A machine that may not follow its cluster; the message says what to do. */
class MembershipError extends Error {}

export type MembershipParts = {
  readonly etcd: Etcd
  readonly keys: Keys
  readonly cluster: string
  readonly machine: string
  readonly location: string
  readonly dataDir: string
  /** Of the data directory. */
  readonly store: AccessStore
  /** Space that a copy of the store leaves on the disk. */
  readonly diskReserveBytes: number
  readonly options: Options
  readonly randomBytes: RandomBytes
  readonly logger: Log
}

/** Throws unless etcd has the cluster, whole; returns its id. */
const checkCluster = ({ cluster }: MembershipParts, { epoch }: Registered): string => {
  if (epoch === undefined)
    throw new MembershipError(
      `etcd has no cluster ${cluster}: correct cluster.id and cluster.store, or run: slotline cluster init`,
    )
  const id = epoch.value.toString()
  if (id === BROKEN) throw new MembershipError(`cluster ${cluster} is broken: ${LOST}`)
  return id
}

/** Throws if the store may not follow this cluster at all. */
const checkStore = ({ cluster, store }: MembershipParts, epoch: string): void => {
  if (store.cluster?.epoch === epoch) return
  if (store.cluster !== undefined)
    throw new MembershipError(
      `etcd has another cluster ${cluster} than access/ has followed: correct cluster.store, ` +
        'or remove access/ to follow this one',
    )
  if (store.revision > 0)
    throw new MembershipError(
      'access/ has accesses of a machine by itself: slotline cluster init takes them into a new ' +
        'cluster; remove access/ to join this one',
    )
}

/** Throws if the machine was added at another location. */
const checkLocation = (
  { machine, location }: MembershipParts,
  { machine: found }: Registered,
): void => {
  const added = found === undefined ? location : parseMachine(found.value).location
  if (added !== location)
    throw new MembershipError(
      `machine ${machine} was added at location ${added}, and cluster.location is ${location}`,
    )
}

/** The revision at which the machine was added; throws if it was not. */
const requireAdded = (
  { cluster, machine, location }: MembershipParts,
  { machine: found }: Registered,
): number => {
  if (found !== undefined) return found.createRevision
  const add = `slotline cluster add ${machine} --location ${location}`
  throw new MembershipError(`cluster ${cluster} has no machine ${machine}; run: ${add}`)
}

/**
 * Waits until the lease of another data directory that has run as this machine must have ended;
 * throws if it still runs.
 */
const outlast = async (parts: MembershipParts, { beat }: Registered): Promise<void> => {
  const { etcd, keys, machine, options } = parts
  await sleep(options.leaseMs)
  const { found: later } = await etcd.get(keys.beat(machine))
  if (later?.modRevision !== beat?.modRevision)
    throw new MembershipError(
      `another data directory runs as machine ${machine}: stop it, or add this one by another id`,
    )
}

/** Joins as a machine without accesses; those of the former one are kept beside, unread. */
const beginAnew = async (parts: MembershipParts, state: ClusterState): Promise<void> => {
  const { dataDir, diskReserveBytes, logger, machine, store } = parts
  const former = await setAside(store, dataDir, diskReserveBytes)
  await store.transaction(() => {
    store.replaceAll([], 0)
    store.setCluster(state)
  })
  logger.warn(
    { former },
    `machine ${machine} was removed and added again: it joins as a new one, and reads all accesses`,
  )
}

const enter = async (parts: MembershipParts): Promise<ClusterState> => {
  const { cluster, dataDir, etcd, keys, machine, randomBytes, store } = parts
  const registered = await readRegistered(etcd, keys, machine)
  const epoch = checkCluster(parts, registered)
  checkLocation(parts, registered)
  checkStore(parts, epoch)
  const { kind, isLost } = standingOf(store, registered)
  if (isLost) {
    // A machine that joins has not been part of what was lost: it decides for itself alone.
    if (kind === 'member') await markBroken(etcd, keys)
    throw new MembershipError(`cluster ${cluster}: ${LOST}`)
  }
  const added = requireAdded(parts, registered)
  const { beat } = registered
  const place = placeOf(dataDir)
  const isSame = kind === 'member' && store.cluster?.place === place
  const instance = (isSame && store.cluster?.instance) || randomBase62(INSTANCE_CHARS, randomBytes)
  if (beat !== undefined && readBeat(beat.value)?.instance !== instance)
    await outlast(parts, registered)
  const state = { epoch, instance, lastBeat: beat?.modRevision ?? 0, added, place }
  if (kind === 'again') await beginAnew(parts, state)
  else await store.transaction(() => store.setCluster(state))
  return state
}

/**
 * Checks that this machine is one of the cluster, and that its store is of this cluster; returns
 * what it knows of itself then.
 */
export const join = async (parts: MembershipParts): Promise<ClusterState> => {
  const { cluster, machine } = parts
  try {
    return await enter(parts)
  } catch (error) {
    if (error instanceof EtcdError && error.isDenied)
      throw new MembershipError(
        `etcd has no user ${machine} for cluster ${cluster}; run: slotline cluster add ${machine}`,
      )
    throw error
  }
}

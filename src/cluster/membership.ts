import { setTimeout as sleep } from 'node:timers/promises'
import type { AccessStore } from '../access/store/access-store.js'
import type { ClusterState } from '../access/store/tables.js'
import { randomBase62, type RandomBytes } from '../access/tokens/location-token.js'
import { EtcdError, type Etcd } from './etcd/client.js'
import { LOST, markBroken } from './broken.js'
import { BROKEN, type Keys } from './keys.js'
import type { Options } from './options.js'
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
  readonly store: AccessStore
  readonly options: Options
  readonly randomBytes: RandomBytes
}

/** What a machine knows of itself once it has joined. */
export type Membership = {
  readonly state: ClusterState
  /** Revision at which it was added. */
  readonly machineCreated: number
}

const checkMachine = async (parts: MembershipParts): Promise<number> => {
  const { etcd, keys, cluster, machine, location } = parts
  const { found } = await etcd.get(keys.machine(machine))
  const add = `slotline cluster add ${machine} --location ${location}`
  if (found === undefined)
    throw new MembershipError(`cluster ${cluster} has no machine ${machine}; run: ${add}`)
  const added = parseMachine(found.value)
  if (added.location !== location)
    throw new MembershipError(
      `machine ${machine} was added at location ${added.location}, and cluster.location is ${location}`,
    )
  return found.createRevision
}

/** The state of the store in this cluster; a new one where the store is empty. */
const checkStore = (parts: MembershipParts, epoch: string): ClusterState => {
  const { cluster, randomBytes, store } = parts
  if (store.cluster?.epoch === epoch) return store.cluster
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
  return { epoch, instance: randomBase62(INSTANCE_CHARS, randomBytes), lastBeat: 0 }
}

/**
 * Takes over from another data directory that ran as this machine, once its lease must have ended;
 * throws where it still runs.
 */
const takeOver = async (parts: MembershipParts, state: ClusterState): Promise<ClusterState> => {
  const { etcd, keys, machine, options } = parts
  const { found } = await etcd.get(keys.beat(machine))
  if (found === undefined) {
    if (state.lastBeat > 0) await breakCluster(parts)
    return state
  }
  if (found.modRevision < state.lastBeat) await breakCluster(parts)
  if (readBeat(found.value)?.instance !== state.instance) {
    await sleep(options.leaseMs)
    const { found: later } = await etcd.get(keys.beat(machine))
    if (later?.modRevision !== found.modRevision)
      throw new MembershipError(
        `another data directory runs as machine ${machine}: stop it, or add this one by another id`,
      )
  }
  return { ...state, lastBeat: found.modRevision }
}

const breakCluster = async ({ etcd, keys, cluster }: MembershipParts): Promise<never> => {
  await markBroken(etcd, keys)
  throw new MembershipError(`cluster ${cluster}: ${LOST}`)
}

/** Checks that this machine is one of the cluster, and that its store is of this cluster. */
export const join = async (parts: MembershipParts): Promise<Membership> => {
  const { etcd, keys, cluster, machine, store } = parts
  try {
    const { found } = await etcd.get(keys.epoch)
    if (found === undefined)
      throw new MembershipError(
        `etcd has no cluster ${cluster}: correct cluster.id and cluster.store, or run: slotline cluster init`,
      )
    const epoch = found.value.toString()
    if (epoch === BROKEN) throw new MembershipError(`cluster ${cluster} is broken: ${LOST}`)
    const machineCreated = await checkMachine(parts)
    const state = await takeOver(parts, checkStore(parts, epoch))
    await store.transaction(() => store.setCluster(state))
    return { state, machineCreated }
  } catch (error) {
    if (error instanceof EtcdError && error.isDenied)
      throw new MembershipError(
        `etcd has no user ${machine} for cluster ${cluster}; run: slotline cluster add ${machine}`,
      )
    throw error
  }
}

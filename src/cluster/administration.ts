import { setTimeout as sleep } from 'node:timers/promises'
import { encodeAccess } from '../access/store/access-codec.js'
import type { AccessStore } from '../access/store/access-store.js'
import type { StoredAccess } from '../access/store/tables.js'
import { randomBase62, type RandomBytes } from '../access/tokens/location-token.js'
import type { Etcd, KeyValue } from './etcd/client.js'
import { toAccess } from './etcd-journal.js'
import { BROKEN, keysOf } from './keys.js'
import { longestLeaseMs } from './lease.js'
import { addMachineRole, enableRoles, removeMachineRole, setControl } from './roles.js'
import { readRegistered, standingOf } from './standing.js'
import { MachineDirectory, type MachineDirectoryParts } from './machine-directory.js'
import { statusesOf, type MachineStatus } from './machine-status.js'
import type { Options } from './options.js'
import { format, parseMachine } from './values.js'

const ID_CHARS = 16
/** Keys in one answer of etcd. */
const PAGE = 1_000

/** A request of the operator that cannot be met; the message says what to do. */
class AdministrationError extends Error {}

/** How long the beats of machines are waited for, in their intervals. */
const BEATS = 2
const LOOK_MS = 20

/** All accesses as of one revision. */
export type AccessesOfCluster = {
  readonly epoch: string
  readonly revision: number
  readonly accesses: readonly StoredAccess[]
}

/** Changes which machines a cluster has, for an operator, at one place at a time. */
export class Administration {
  private readonly etcd: Etcd
  private readonly cluster: string
  private readonly keys

  constructor(etcd: Etcd, cluster: string) {
    this.etcd = etcd
    this.cluster = cluster
    this.keys = keysOf(cluster)
  }

  /**
   * Makes the cluster with the accesses of a machine by itself; returns how many they are.
   * Repeated, it continues.
   */
  async init(randomBytes: RandomBytes, store: AccessStore | undefined): Promise<number> {
    const { cluster, etcd, keys } = this
    if ((await etcd.get(keys.epoch)).found !== undefined)
      throw new AdministrationError(
        `etcd has a cluster ${cluster} already; choose another cluster.id`,
      )
    if (store?.cluster !== undefined)
      throw new AdministrationError(
        'access/ follows another cluster; use another data directory, or, where etcd has lost it, ' +
          'run: slotline cluster rebuild',
      )
    return this.begin(randomBytes, store, undefined)
  }

  /**
   * Makes the cluster again, after etcd has lost changes, with the accesses of a machine that
   * followed it; returns how many they are. Repeated, it continues.
   */
  async rebuild(
    randomBytes: RandomBytes,
    store: AccessStore | undefined,
    machine: string,
  ): Promise<number> {
    const { cluster, etcd, keys } = this
    if (store?.cluster === undefined)
      throw new AdministrationError('access/ has followed no cluster; run: slotline cluster init')
    const registered = await readRegistered(etcd, keys, machine)
    const { epoch } = registered
    const isLost = epoch === undefined || standingOf(store, registered).isLost
    if (!isLost && epoch.value.toString() !== BROKEN)
      throw new AdministrationError(
        `etcd has lost nothing of cluster ${cluster} that this machine has seen`,
      )
    // From here on no machine proves anything of what is replaced.
    if (epoch !== undefined) await etcd.transact([], [{ put: keys.epoch, value: BROKEN }])
    for (const { key } of await this.list(keys.accesses))
      if (store.accesses.get(key.slice(keys.accesses.length)) === undefined)
        await etcd.transact([], [{ remove: key }])
    for (const prefix of [keys.beats, keys.uses])
      for (const { key } of await this.list(prefix)) await etcd.transact([], [{ remove: key }])
    return this.begin(randomBytes, store, epoch && BROKEN)
  }

  /** Reads all accesses as of one revision. */
  async accesses(): Promise<AccessesOfCluster> {
    const { etcd, keys } = this
    await this.requireCluster()
    const { found: epoch, revision } = await etcd.get(keys.epoch)
    const { found } = await etcd.list(keys.accesses, { limit: PAGE, atRevision: revision })
    return { epoch: epoch?.value.toString() ?? '', revision, accesses: found.map(toAccess) }
  }

  async add(machine: string, location: string, isControl: boolean): Promise<void> {
    const { cluster, etcd, keys } = this
    await this.requireCluster()
    const { found } = await etcd.get(keys.machine(machine))
    if (found !== undefined)
      throw new AdministrationError(
        `cluster ${cluster} has a machine ${machine} already, at location ` +
          `${parseMachine(found.value).location}: it needs no other command to run again; ` +
          'slotline cluster control lets it change accesses',
      )
    await addMachineRole(etcd, keys, { cluster, machine, isControl })
    const added = await etcd.transact(
      [{ key: keys.machine(machine), createRevision: 0 }],
      [{ put: keys.machine(machine), value: format({ location }) }],
    )
    if (!added.isDone)
      throw new AdministrationError(`cluster ${cluster} has a machine ${machine} already`)
  }

  /** Lets a machine change accesses, or no more; it goes on running. */
  async setControl(machine: string, isControl: boolean): Promise<void> {
    const { cluster, etcd } = this
    await this.requireMachine(machine)
    await setControl(etcd, { cluster, machine, isControl })
  }

  /**
   * Deletes the machine's user in etcd, so that it cannot renew its lease, and deletes its record
   * when that lease must have ended: until then revocations at its location wait for it. Can be
   * repeated after an interruption.
   */
  async remove(machine: string, { leaseMs }: Pick<Options, 'leaseMs'>): Promise<void> {
    const { cluster, etcd, keys } = this
    await this.requireMachine(machine)
    await removeMachineRole(etcd, cluster, machine)
    await sleep(longestLeaseMs(leaseMs))
    await etcd.transact(
      [],
      [
        { remove: keys.machine(machine) },
        { remove: keys.beat(machine) },
        { remove: keys.use(machine) },
      ],
    )
  }

  /**
   * All machines, once each that runs has sent a beat; the state of one that has not is `silent`.
   */
  async machines(
    options: Pick<Options, 'beatMs' | 'leaseMs' | 'retryMs'>,
    { bootMs, logger }: Pick<MachineDirectoryParts, 'bootMs' | 'logger'>,
  ): Promise<{ readonly isBroken: boolean; readonly machines: readonly MachineStatus[] }> {
    const { etcd, keys } = this
    await this.requireCluster()
    const directory = new MachineDirectory({ etcd, keys, options, bootMs, logger })
    directory.start()
    const endMs = bootMs() + BEATS * options.beatMs
    const isHeard = (): boolean =>
      directory.isCurrent &&
      directory.list().every(({ beat, beatSeenMs }) => beat === undefined || beatSeenMs)
    while (bootMs() < endMs && !isHeard()) await sleep(LOOK_MS)
    await directory.stop()
    const { isBroken } = directory
    const machines = statusesOf(directory, bootMs()).map(machine =>
      machine.leaseMs === null && !isBroken ? { ...machine, state: 'silent' } : machine,
    )
    return { isBroken, machines }
  }

  private async requireCluster(): Promise<void> {
    const { cluster, etcd, keys } = this
    if ((await etcd.get(keys.epoch)).found === undefined)
      throw new AdministrationError(
        `etcd has no cluster ${cluster}: correct cluster.id and cluster.store, or run: slotline cluster init`,
      )
  }

  private async requireMachine(machine: string): Promise<void> {
    await this.requireCluster()
    if ((await this.etcd.get(this.keys.machine(machine))).found === undefined)
      throw new AdministrationError(`cluster ${this.cluster} has no machine ${machine}`)
  }

  private async list(prefix: string): Promise<readonly KeyValue[]> {
    return (await this.etcd.list(prefix, { limit: PAGE })).found
  }

  /**
   * Writes the accesses of a store into etcd, then the epoch in place of `replaced`; the store
   * follows the new cluster then.
   */
  private async begin(
    randomBytes: RandomBytes,
    store: AccessStore | undefined,
    replaced: string | undefined,
  ): Promise<number> {
    const { cluster, etcd, keys } = this
    const accesses = Array.from(store?.accesses.from('') ?? [], ([, access]) => access)
    for (const access of accesses)
      await etcd.transact([], [{ put: keys.access(access.accessId), value: encodeAccess(access) }])
    await enableRoles(etcd, keys, cluster)
    const epoch = randomBase62(ID_CHARS, randomBytes)
    const expected =
      replaced === undefined
        ? { key: keys.epoch, createRevision: 0 }
        : { key: keys.epoch, value: replaced }
    // Last: the cluster exists when everything else does.
    const made = await etcd.transact([expected], [{ put: keys.epoch, value: epoch }])
    if (!made.isDone) throw new AdministrationError(`etcd has a cluster ${cluster} already`)
    if (store === undefined) return 0
    const instance = randomBase62(ID_CHARS, randomBytes)
    await store.transaction(() => {
      store.replaceAll(accesses, made.revision)
      store.setCluster({ epoch, instance, lastBeat: 0, added: 0, place: '' })
    })
    return accesses.length
  }
}

import type { AccessLog } from '../access/log/access-log.js'
import { encodeAccess } from '../access/store/access-codec.js'
import type { AccessStore } from '../access/store/access-store.js'
import { randomBase62, type RandomBytes } from '../access/tokens/location-token.js'
import type { Etcd } from './etcd/client.js'
import { keysOf } from './keys.js'
import { addMachineRole, enableRoles, removeMachineRole } from './roles.js'
import { format, parseBeat, parseMachine, type Machine } from './values.js'

const ID_CHARS = 16
const PAGE = 1_000

/** A request of the operator that cannot be met; the message says what to do. */
class AdministrationError extends Error {}

/** A machine of the cluster, as `slotline cluster machines` shows it. */
export type ListedMachine = Machine & {
  readonly id: string
  /** Revision up to which it has confirmed all changes; undefined where it has never run. */
  readonly applied: number | undefined
  /** Changes of the cluster since its last proof. */
  readonly behind: number | undefined
}

/** The store of a machine by itself, whose accesses a new cluster takes over. */
export type OwnAccesses = { readonly store: AccessStore; readonly log: AccessLog }

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

  /** Makes the cluster; returns how many accesses it took over. Repeated, it goes on. */
  async init(randomBytes: RandomBytes, own: OwnAccesses | undefined): Promise<number> {
    const { cluster, etcd, keys } = this
    if ((await etcd.get(keys.epoch)).found !== undefined)
      throw new AdministrationError(
        `etcd has a cluster ${cluster} already; choose another cluster.id`,
      )
    const count = own === undefined ? 0 : await this.takeAccesses(own)
    await enableRoles(etcd, keys, cluster)
    const epoch = randomBase62(ID_CHARS, randomBytes)
    // Last: the cluster exists when everything else does.
    const made = await etcd.transact(
      [{ key: keys.epoch, createRevision: 0 }],
      [{ put: keys.epoch, value: epoch }],
    )
    if (!made.isDone) throw new AdministrationError(`etcd has a cluster ${cluster} already`)
    if (own !== undefined) {
      const instance = randomBase62(ID_CHARS, randomBytes)
      const all = await etcd.list(keys.accesses, { limit: 1 })
      const accesses = Array.from(own.store.accesses.from(''), ([, access]) => access)
      await own.store.transaction(() => {
        own.store.replaceAll(accesses, all.revision)
        own.store.setCluster({ epoch, instance, lastBeat: 0 })
      })
    }
    return count
  }

  async add(machine: string, location: string, isControl: boolean): Promise<void> {
    const { cluster, etcd, keys } = this
    await this.requireCluster()
    if ((await etcd.get(keys.machine(machine))).found !== undefined)
      throw new AdministrationError(
        `cluster ${cluster} has a machine ${machine} already; choose another id, or remove it first`,
      )
    await addMachineRole(etcd, keys, { cluster, machine, isControl })
    const added = await etcd.transact(
      [{ key: keys.machine(machine), createRevision: 0 }],
      [{ put: keys.machine(machine), value: format({ location }) }],
    )
    if (!added.isDone)
      throw new AdministrationError(`cluster ${cluster} has a machine ${machine} already`)
  }

  /** From now on it proves nothing, so it answers nothing when its lease has ended. */
  async remove(machine: string): Promise<void> {
    const { cluster, etcd, keys } = this
    await this.requireMachine(machine)
    await etcd.transact(
      [],
      [
        { remove: keys.machine(machine) },
        { remove: keys.beat(machine) },
        { remove: keys.use(machine) },
      ],
    )
    await removeMachineRole(etcd, cluster, machine)
  }

  async machines(): Promise<readonly ListedMachine[]> {
    const { etcd, keys } = this
    await this.requireCluster()
    const { found, revision } = await etcd.list(keys.machines, { limit: PAGE })
    const beats = await etcd.list(keys.beats, { limit: PAGE, atRevision: revision })
    return found.map(({ key, value }) => {
      const id = key.slice(keys.machines.length)
      const beat = beats.found.find(one => one.key === keys.beat(id))
      const { location } = parseMachine(value)
      const applied = beat && parseBeat(beat.value).applied
      return { id, location, applied, behind: beat && revision - beat.modRevision }
    })
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

  /** Writes the accesses of a machine by itself into etcd. */
  private async takeAccesses({ store, log }: OwnAccesses): Promise<number> {
    if (store.cluster !== undefined)
      throw new AdministrationError('access/ follows another cluster; use another data directory')
    const last = await log.prove()
    let count = 0
    if (last === 0) return count
    for await (const { revision, accesses } of log.follow(0, new AbortController().signal)) {
      for (const access of accesses) {
        const put = this.keys.access(access.accessId)
        await this.etcd.transact([], [{ put, value: encodeAccess(access) }])
        count++
      }
      if (revision === last) break
    }
    return count
  }
}

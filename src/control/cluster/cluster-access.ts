import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AccessJournal, Change } from '../../access/journal/access-journal.js'
import type { AccessStore } from '../../access/store/access-store.js'
import { openReader } from '../../access/store/store.js'
import type { StoredAccess } from '../../access/store/tables.js'
import { connectEtcd } from '../../cluster/connection.js'
import { EtcdJournal } from '../../cluster/etcd-journal.js'
import { keysOf } from '../../cluster/keys.js'
import { MachineDirectory } from '../../cluster/machine-directory.js'
import { MachineNotifier } from '../../cluster/machine-notifier.js'
import type { ControlConfig } from '../../config/child-config.js'
import { RpcError } from '../../shared/errors.js'
import type { Log } from '../../shared/log.js'
import type { AccessSource } from '../accesses/access-source.js'

type ClusterConfig = NonNullable<ControlConfig['cluster']>

/** How often the store is read for a change that its follower is applying. */
const POLL_MS = 5

/** Waits a moment until this machine's follower has applied what was changed here. */
const untilFollowed = async (
  store: AccessStore,
  revision: number,
  limitMs: number,
): Promise<void> => {
  const endMs = performance.now() + limitMs
  for (;;) {
    store.resetRead()
    if (store.revision >= revision || performance.now() >= endMs) return
    await sleep(POLL_MS)
  }
}

/** Accesses of a cluster: the follower of this machine writes the store. */
export const openClusterAccess = async (
  { access, dataDir }: ControlConfig,
  cluster: ClusterConfig,
  { bootMs, log: logger }: { readonly bootMs: () => number; readonly log: Log },
): Promise<AccessSource> => {
  const etcd = await connectEtcd(cluster, cluster.machine)
  const store = await openReader(dataDir, access.store)
  const keys = keysOf(cluster.id)
  const epoch = (): string => {
    store.resetRead()
    if (store.cluster === undefined) throw new RpcError('notInCluster')
    return store.cluster.epoch
  }
  const journal = new EtcdJournal({ etcd, keys, epoch, options: cluster, randomBytes, bootMs })
  const followed = (revision: number, limitMs: number): Promise<void> =>
    untilFollowed(store, revision, limitMs)
  const accessJournal: AccessJournal = {
    propose: async (change: Change): Promise<StoredAccess> => {
      const changed = await journal.propose(change)
      await followed(changed.revision, cluster.announceMs)
      return changed
    },
    follow: (after, signal) => journal.follow(after, signal),
    prove: () => journal.prove(),
  }
  const notifier = new MachineNotifier({
    etcd,
    keys,
    journal,
    options: cluster,
    untilFollowed: followed,
    bootMs,
    now: Date.now,
    logger,
  })
  const machines = new MachineDirectory({ etcd, keys, options: cluster, bootMs, logger })
  machines.start()
  return {
    store,
    accessJournal,
    changeJournal: journal,
    notifier,
    machines,
    close: async () => {
      await machines.stop()
      etcd.close()
      await store.close()
    },
  }
}

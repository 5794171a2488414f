import { randomBytes } from 'node:crypto'
import { createAccessManager } from '../access/accesses/access-manager.js'
import { createLocalLog } from '../access/log/local-log.js'
import { createAccessService, type AccessService, type EdgeNotifier } from '../access/service.js'
import type { AccessStore } from '../access/store/access-store.js'
import { openControlStore, type ControlStore } from '../access/store/control-store.js'
import { openWriter } from '../access/store/store.js'
import { createSealing } from '../access/tokens/sealing.js'
import { createTokenManager } from '../access/tokens/token-manager.js'
import { createWebhookManager, type WebhookManager } from '../access/webhooks/webhook-manager.js'
import type { MachineDirectory } from '../cluster/machine-directory.js'
import type { ControlConfig } from '../config/child-config.js'
import type { Log } from '../shared/log.js'
import type { AccessSource } from './access-source.js'
import type { MachineEdges } from './edge-notifier.js'

export type ControlAccessParts = {
  readonly log: Log
  /** Milliseconds of the boot clock. */
  readonly bootMs: () => number
  /** The edges of a machine by itself. */
  readonly edges: () => MachineEdges
}

/** Accesses as control manages them. */
export type ControlAccess = {
  readonly accessService: AccessService
  readonly webhooks: WebhookManager
  readonly notifier: EdgeNotifier
  readonly store: AccessStore
  /** Of the cluster; undefined of a machine by itself. */
  readonly machines: MachineDirectory | undefined
  /** Control's own store. */
  readonly ownStore: ControlStore
  close(): Promise<void>
}

/** Of a machine by itself: control writes the store. */
const openOwnAccess = async (
  { access, dataDir }: ControlConfig,
  edges: MachineEdges,
): Promise<AccessSource> => {
  const store = await openWriter(dataDir, access.store)
  const accessLog = createLocalLog({ store, randomBytes })
  return { store, accessLog, changeLog: accessLog, notifier: edges, close: () => store.close() }
}

/** Of a cluster. Its client of etcd is loaded only here. */
const openSharedAccess = async (
  config: ControlConfig,
  cluster: NonNullable<ControlConfig['cluster']>,
  parts: ControlAccessParts,
): Promise<AccessSource> => {
  const { openClusterAccess } = await import('./cluster-access.js')
  return openClusterAccess(config, cluster, parts)
}

/** Opens the accesses, control's own store, and the service over both. */
export const openAccess = async (
  config: ControlConfig,
  parts: ControlAccessParts,
): Promise<ControlAccess> => {
  const { edges, log } = parts
  const source = await (config.cluster === undefined
    ? openOwnAccess(config, edges())
    : openSharedAccess(config, config.cluster, parts))
  const { store, accessLog, changeLog, notifier } = source
  const ownStore = openControlStore(config.dataDir, config.access.store)
  const sealing = createSealing(config.access.keyFile, ownStore, randomBytes)
  const owned = { store, log: accessLog, randomBytes, now: Date.now }
  const changed = { ...owned, log: changeLog }
  const accessService = createAccessService({
    accessManager: createAccessManager(changed),
    tokenManager: createTokenManager({ ...changed, sealing }),
    notifier,
    locations: config.locations.map(({ id }) => id),
    now: Date.now,
  })
  try {
    await sealing.ready()
  } catch (error) {
    // Existing tokens still authenticate. Each call that needs the key fails with this error.
    log.error({ err: error }, 'tokens cannot be generated or revealed')
  }
  return {
    accessService,
    webhooks: createWebhookManager({ ...owned, sealing }),
    notifier,
    store,
    machines: source.machines,
    ownStore,
    close: async () => {
      await source.close()
      await ownStore.close()
    },
  }
}

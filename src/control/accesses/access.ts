import { randomBytes } from 'node:crypto'
import { createAccessManager } from '../../access/accesses/access-manager.js'
import { createCheckedJournal } from '../../access/journal/checked-journal.js'
import { createLocalJournal } from '../../access/journal/local-journal.js'
import { createAccessService, type AccessService, type EdgeNotifier } from '../../access/service.js'
import type { AccessStore } from '../../access/store/access-store.js'
import { openControlStore, type ControlStore } from '../../access/store/control-store.js'
import { openWriter } from '../../access/store/store.js'
import { ensureAdminToken } from '../../access/tokens/admin-token.js'
import { createAdminTokens, type AdminTokens } from '../../access/tokens/admin-tokens.js'
import { createSealing } from '../../access/tokens/sealing.js'
import { createResealer, type Resealer, type ResealState } from '../../access/tokens/resealer.js'
import { createTokenManager } from '../../access/tokens/token-manager.js'
import { createApiKeyManager, type ApiKeyManager } from '../../access/keys/key-manager.js'
import { createWebhookManager, type WebhookManager } from '../../access/webhooks/webhook-manager.js'
import type { MachineDirectory } from '../../cluster/machine-directory.js'
import type { ControlConfig } from '../../config/child-config.js'
import type { Log } from '../../shared/log.js'
import type { AccessSource } from './access-source.js'
import type { MachineEdges } from './edge-notifier.js'

export type ControlAccessParts = {
  readonly log: Log
  /** Milliseconds of the boot clock. */
  readonly bootMs: () => number
  /** The edges of a machine by itself. */
  readonly edges: () => MachineEdges
  /** Everything is sealed with a new key, or that has failed. */
  readonly onResealed: (state: ResealState) => void
}

/** Accesses as control manages them. */
export type ControlAccess = {
  readonly accessService: AccessService
  readonly webhooks: WebhookManager
  readonly adminTokens: AdminTokens
  readonly apiKeys: ApiKeyManager
  readonly resealer: Resealer
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
  const accessJournal = createLocalJournal({ store, randomBytes })
  return {
    store,
    accessJournal,
    changeJournal: accessJournal,
    notifier: edges,
    close: () => store.close(),
  }
}

/** Of a cluster. Its client of etcd is loaded only here. */
const openSharedAccess = async (
  config: ControlConfig,
  cluster: NonNullable<ControlConfig['cluster']>,
  parts: ControlAccessParts,
): Promise<AccessSource> => {
  const { openClusterAccess } = await import('../cluster/cluster-access.js')
  return openClusterAccess(config, cluster, parts)
}

/** The admin tokens of this machine. The file is made where there is none. */
const openAdminTokens = (
  { access: { adminTokenFile: file } }: ControlConfig,
  store: ControlStore,
  log: Log,
): AdminTokens => {
  ensureAdminToken(file, randomBytes)
  return createAdminTokens({
    store,
    file,
    randomBytes,
    now: Date.now,
    onFileError: error => log.error({ err: error }, 'the admin token of the file is refused'),
  })
}

/** Opens the accesses, control's own store, and the service over both. */
export const openAccess = async (
  config: ControlConfig,
  given: ControlAccessParts,
): Promise<ControlAccess> => {
  const { edges, log, onResealed } = given
  const source = await (config.cluster === undefined
    ? openOwnAccess(config, edges())
    : openSharedAccess(config, config.cluster, given))
  const { store, accessJournal, changeJournal, notifier } = source
  const ownStore = openControlStore(config.dataDir, config.access.store)
  const sealing = createSealing(config.access.keyFile, ownStore, randomBytes, error =>
    log.error({ err: error }, 'a changed sealing key is not used'),
  )
  const parts = { store, randomBytes, now: Date.now }
  const owned = { ...parts, journal: createCheckedJournal(accessJournal) }
  const changed = { ...parts, journal: createCheckedJournal(changeJournal) }
  const apiKeys = createApiKeyManager(changed)
  const accessService = createAccessService({
    accessManager: createAccessManager(changed),
    tokenManager: createTokenManager({ ...changed, sealing }),
    keyManager: apiKeys,
    notifier,
    locations: config.locations.map(({ id }) => id),
    now: Date.now,
  })
  const isShared = config.cluster !== undefined
  const resealer = createResealer({
    store,
    journal: accessJournal,
    sealing,
    isShared,
    // Changes are carried out in order. In a cluster the follower writes the store.
    settle: isShared ? () => Promise.resolve() : () => store.transaction(() => {}),
    onEnd: onResealed,
  })
  try {
    await sealing.ready()
    if (sealing.keyIds().length > 1)
      log.warn(
        { keyIds: sealing.keyIds() },
        'the sealing key is being replaced: slotline admin reseal',
      )
  } catch (error) {
    // Existing tokens still authenticate. Each call that needs the key fails with this error.
    log.error({ err: error }, 'tokens cannot be generated or revealed')
  }
  return {
    accessService,
    webhooks: createWebhookManager({ ...owned, sealing }),
    resealer,
    apiKeys,
    adminTokens: openAdminTokens(config, ownStore, log),
    notifier,
    store,
    machines: source.machines,
    ownStore,
    close: async () => {
      await resealer.stop()
      await source.close()
      await ownStore.close()
    },
  }
}

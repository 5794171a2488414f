import { randomBytes } from 'node:crypto'
import { createAccessManager } from '../access/accesses/access-manager.js'
import { createLocalLog } from '../access/log/local-log.js'
import { createAccessService, type AccessService, type EdgeNotifier } from '../access/service.js'
import type { AccessStore } from '../access/store/access-store.js'
import { openControlStore, type ControlStore } from '../access/store/control-store.js'
import { openWriter } from '../access/store/store.js'
import { createSealing } from '../access/tokens/sealing.js'
import { createTokenManager } from '../access/tokens/token-manager.js'
import type { ControlConfig } from '../config/child-config.js'
import type { Log } from '../shared/log.js'

/** Accesses as control manages them. */
export type ControlAccess = {
  readonly accessService: AccessService
  readonly store: AccessStore
  /** Control's own store. */
  readonly ownStore: ControlStore
  close(): Promise<void>
}

/** Opens the access store to write, control's own store, and the service over both. */
export const openAccess = async (
  config: ControlConfig,
  notifier: EdgeNotifier,
  log: Log,
): Promise<ControlAccess> => {
  const store = await openWriter(config.dataDir, config.access.store)
  const ownStore = openControlStore(config.dataDir, config.access.store)
  const sealing = createSealing(config.access.keyFile, ownStore, randomBytes)
  const owned = {
    store,
    log: createLocalLog({ store, randomBytes }),
    randomBytes,
    now: Date.now,
  }
  const accessService = createAccessService({
    accessManager: createAccessManager(owned),
    tokenManager: createTokenManager({ ...owned, sealing }),
    notifier,
  })
  try {
    await sealing.ready()
  } catch (error) {
    // Existing tokens still authenticate. Each call that needs the key fails with this error.
    log.error({ err: error }, 'tokens cannot be generated or revealed')
  }
  return {
    accessService,
    store,
    ownStore,
    close: async () => {
      await store.close()
      await ownStore.close()
    },
  }
}

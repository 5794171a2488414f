import { randomBytes } from 'node:crypto'
import { createAccessManager } from '../access/accesses/access-manager.js'
import { createAccessService, type AccessService, type EdgeNotifier } from '../access/service.js'
import { openWriter, type AccessStore } from '../access/store/store.js'
import { createSealing } from '../access/tokens/sealing.js'
import { createTokenManager } from '../access/tokens/token-manager.js'
import type { ControlConfig } from '../config/child-config.js'
import type { Log } from '../shared/log.js'

/** Opens the access store to write, and the service over it. */
export const openAccess = async (
  config: ControlConfig,
  notifier: EdgeNotifier,
  log: Log,
): Promise<{ readonly store: AccessStore; readonly accessService: AccessService }> => {
  const store = await openWriter(config.dataDir, config.access.store)
  const sealing = createSealing(config.access.keyFile, store, randomBytes)
  const owned = { store, randomBytes, now: Date.now }
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
  return { store, accessService }
}

import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../config/config.js'
import { demandNetwork, demandStoreOf, withService, type ConfigLoader } from './command.js'

const restoreAccesses = async (config: Config, from: string): Promise<void> => {
  const { restoreAccess } = await import('../access/store/backup.js')
  const { demandSealingKey } = await import('../access/tokens/sealing.js')
  process.title = 'slotline restore'
  const { accesses } = await restoreAccess(resolve(from), {
    dataDir: config.dataDir,
    storeOptions: config.access.store,
    diskReserveBytes: config.store.diskReserveBytes,
    demandKey: keyId => demandSealingKey(config.access.keyFile, keyId),
  })
  process.stdout.write(
    `access store: ${accesses} accesses; what was changed after the backup is undone, ` +
      'so revoke again what was revoked since\n',
  )
}

const restoreNetwork = async (config: Config, network: string, from: string): Promise<void> => {
  const { createProgress } = await import('./progress.js')
  const { forgetBootstrap } = await import('../ingest/bootstrap/state.js')
  const { restoreFrom } = await import('../storage/restore.js')
  const { toStoreOptions } = await import('../storage/store-options.js')
  process.title = 'slotline restore'
  demandNetwork(config, network)
  const progress = createProgress('bytes')
  const { generation, slot } = await restoreFrom(resolve(from), {
    dataDir: config.dataDir,
    network,
    storeOptions: toStoreOptions(config, network),
    diskReserveBytes: config.store.diskReserveBytes,
    onProgress: (done, total) => progress.show(done, total, `restore ${network}`),
    // An interrupted bootstrap would replace the restored store.
    beforeLive: forgetBootstrap,
  }).finally(progress.end)
  process.stdout.write(`network ${network}: store ${generation}, as of slot ${slot}\n`)
}

/** `slotline restore`: puts a backup in the place of a store; the service must be stopped. */
export const addRestoreCommand = (program: Command, load: ConfigLoader): void => {
  withService(program.command('restore'))
    .description('restore a store from a backup while the service is stopped')
    .option('--network <id>', 'the index of this network')
    .option('--access', 'the access store')
    .requiredOption('--from <dir>', 'folder that `slotline backup` created')
    .action(async options => {
      const network = demandStoreOf(options)
      const config = await load.service(options)
      const { from } = options
      await (network === undefined
        ? restoreAccesses(config, from)
        : restoreNetwork(config, network, from))
    })
}

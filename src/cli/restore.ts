import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../config/config.js'
import { demandNetwork, withService, type ConfigLoader } from './command.js'

const restore = async (
  config: Config,
  { network, from }: { readonly network: string; readonly from: string },
): Promise<void> => {
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

/** `slotline restore`: makes a backup the live store of a network; the service must be stopped. */
export const addRestoreCommand = (program: Command, load: ConfigLoader): void => {
  withService(program.command('restore'))
    .description('restore the store of a network from a backup while the service is stopped')
    .requiredOption('--network <id>', 'the network')
    .requiredOption('--from <dir>', 'folder that `slotline backup` created')
    .action(async options => restore(await load.service(options), options))
}

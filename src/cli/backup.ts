import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../config/config.js'
import { demandNetwork, withService, type ConfigLoader } from './command.js'

const backup = async (
  config: Config,
  { network, to }: { readonly network: string; readonly to: string },
): Promise<void> => {
  const { createProgress } = await import('./progress.js')
  const { backUp } = await import('../storage/backup.js')
  const { toStoreOptions } = await import('../storage/store-options.js')
  process.title = 'slotline backup'
  demandNetwork(config, network)
  const target = resolve(to)
  const progress = createProgress('bytes')
  const { bytes, slot } = await backUp(target, {
    dataDir: config.dataDir,
    network,
    storeOptions: toStoreOptions(config, network),
    diskReserveBytes: config.store.diskReserveBytes,
    onProgress: (done, total) => progress.show(done, total, `backup ${network}`),
  }).finally(progress.end)
  process.stdout.write(`${target}: network ${network} as of slot ${slot}, ${bytes} bytes\n`)
}

/** `slotline backup`: copies a network's store while its indexer runs. */
export const addBackupCommand = (program: Command, load: ConfigLoader): void => {
  withService(program.command('backup'))
    .description('write a compacted copy of a network’s store while its indexer runs')
    .requiredOption('--network <id>', 'the network')
    .requiredOption('--to <dir>', 'folder to create; its parent must exist')
    .action(async options => backup(await load.service(options), options))
}

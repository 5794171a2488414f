import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../config/config.js'
import { demandNetwork, demandStoreOf, withService, type ConfigLoader } from './command.js'

const backupAccess = async (config: Config, to: string): Promise<void> => {
  const { backUpAccess } = await import('../access/store/backup.js')
  const { readSealingKeyId } = await import('../access/tokens/sealing.js')
  process.title = 'slotline backup'
  const target = resolve(to)
  const { keyFile, store } = config.access
  const { accesses, bytes } = await backUpAccess(target, {
    dataDir: config.dataDir,
    storeOptions: store,
    diskReserveBytes: config.store.diskReserveBytes,
    readKeyId: () => readSealingKeyId(keyFile),
  })
  process.stdout.write(
    `${target}: ${accesses} accesses, ${bytes} bytes, without their key: ` +
      `back up ${keyFile} apart from it\n`,
  )
}

const backupNetwork = async (config: Config, network: string, to: string): Promise<void> => {
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

/** `slotline backup`: copies a network's index, or the access store, while the service runs. */
export const addBackupCommand = (program: Command, load: ConfigLoader): void => {
  withService(program.command('backup'))
    .description('write a compacted copy of a store while the service runs')
    .option('--network <id>', 'the index of this network')
    .option('--access', 'the access store, without its key')
    .requiredOption('--to <dir>', 'folder to create; its parent must exist')
    .action(async options => {
      const network = demandStoreOf(options)
      const config = await load.service(options)
      const { to } = options
      await (network === undefined ? backupAccess(config, to) : backupNetwork(config, network, to))
    })
}

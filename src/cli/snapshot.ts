import type { Command } from 'commander'
import type { LoadConfig } from './command.js'

/** `slotline snapshot`: makes a network's store from snapshot archives. */
export const addSnapshotCommands = (program: Command, load: LoadConfig): void => {
  program
    .command('snapshot')
    .description('build the store of a network from a validator’s snapshots')
    .command('load <archives...>')
    .description(
      'a full snapshot and then an incremental one, as files or URLs; resumes after it was killed',
    )
    .requiredOption('--config <file>', 'configuration of the service on this machine')
    .requiredOption('--network <id>', 'the network')
    .option('--dry-run', 'count accounts and bytes without writing a store')
    .action(async (locations, { config, ...options }) => {
      const { loadSnapshots } = await import('./load-snapshot.js')
      return loadSnapshots(await load(config), { ...options, locations })
    })
}

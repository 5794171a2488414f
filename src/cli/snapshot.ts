import type { Command } from 'commander'
import { withService, type ConfigLoader } from './command.js'

/** `slotline snapshot`: makes a network's store from snapshot archives. */
export const addSnapshotCommands = (program: Command, load: ConfigLoader): void => {
  const snapshot = program
    .command('snapshot')
    .description('build the store of a network from a validator’s snapshots')
  withService(snapshot.command('load <archives...>'))
    .description(
      'a full snapshot and then an incremental one, as files or URLs; resumes after it was killed',
    )
    .requiredOption('--network <id>', 'the network')
    .option('--dry-run', 'count accounts and bytes without writing a store')
    .action(async (locations, options) => {
      const { loadSnapshots } = await import('./load-snapshot.js')
      const config = await load.service(options, { needsSecrets: true })
      return loadSnapshots(config, { ...options, locations })
    })
}

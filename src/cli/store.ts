import type { Command } from 'commander'
import { integer, line } from './arguments.js'
import type { Config } from '../config/config.js'

const fail = (error: unknown, exitCode: number): void => {
  const [line = ''] = String(error instanceof Error ? error.message : error).split('\n', 1)
  process.stderr.write(`slotline: ${line}\n`)
  process.exitCode = exitCode
}

/** Rows a second: from one that is hardly there to one that knows no bound. */
const rate = integer(1, 1_000_000_000)

/**
 * `slotline status`, `verify`, `backup`, `snapshot`, `bootstrap`, `restore`: what is done with
 * stores beside the service.
 */
export const addStoreCommands = (program: Command, load: (file: string) => Config): void => {
  program
    .command('status')
    .description('say where each network is: tip, health, feed, bootstrap, repair')
    .requiredOption('--config <file>', 'configuration of the service on this machine')
    .option('--network <id>', 'only this network')
    .option('--json', 'print it as one line of JSON')
    .action(async ({ config, ...options }) => {
      try {
        const { status } = await import('./status.js')
        process.exitCode = status(load(config), options)
      } catch (error) {
        // 1 is said of a network that is not healthy.
        fail(error, 2)
      }
    })
  program
    .command('verify')
    .description('recompute the indexes from the accounts, beside the running service, and compare')
    .requiredOption('--config <file>', 'configuration of the service on this machine')
    .option('--network <id>', 'only this network')
    .option('--rate <rows>', 'rows a second (default: verify.rowsPerSecondMax)', rate)
    .option('--json', 'print the result as one line of JSON')
    .action(async ({ config, ...options }) => {
      try {
        const { verify } = await import('../storage/verify.js')
        process.exitCode = await verify(load(config), options)
      } catch (error) {
        // 1 is said of differences.
        fail(error, 2)
      }
    })
  program
    .command('backup')
    .description('copy the store of a network, compacted, while its indexer goes on')
    .requiredOption('--config <file>', 'configuration of the service on this machine')
    .requiredOption('--network <id>', 'the network')
    .requiredOption('--to <dir>', 'folder to make; its parent must exist')
    .action(async ({ config, ...options }) =>
      (await import('../storage/backup.js')).backup(load(config), options),
    )
  program
    .command('snapshot')
    .description('make the store of a network from snapshots of a validator')
    .command('load <places...>')
    .description(
      'a full snapshot, and then an incremental one: files or URLs; goes on where it was killed',
    )
    .requiredOption('--config <file>', 'configuration of the service on this machine')
    .requiredOption('--network <id>', 'the network')
    .option('--dry-run', 'count accounts and space, and write no store')
    .action(async (places, { config, ...options }) =>
      (await import('./snapshot.js')).loadSnapshots(load(config), {
        ...options,
        places,
      }),
    )
  const bootstrap = program
    .command('bootstrap')
    .description('make the store of a network from another source, or end that')
  bootstrap
    .command('rpc')
    .description('from networks.accountsRpc, for a network with a scope')
    .requiredOption('--config <file>', 'configuration of the service on this machine')
    .requiredOption('--network <id>', 'the network')
    .action(async ({ config, ...options }) =>
      (await import('./snapshot.js')).loadFromRpc(load(config), options),
    )
  bootstrap
    .command('cancel')
    .description('end a bootstrap that runs, of a snapshot too, and remove what it made')
    .requiredOption('--config <file>', 'configuration of the service on this machine')
    .requiredOption('--network <id>', 'the network')
    .option('--reason <text>', 'what for: shown by `slotline status` and in the log', line)
    .action(async ({ config, network, reason = 'by `slotline bootstrap cancel`' }) => {
      try {
        const { cancelBootstrap } = await import('./bootstrap-cancel.js')
        process.exitCode = await cancelBootstrap(load(config), { network, reason })
      } catch (error) {
        // 1 is said where there is nothing to cancel.
        fail(error, 2)
      }
    })
  program
    .command('restore')
    .description('make a backup the store of a network, while the service is stopped')
    .requiredOption('--config <file>', 'configuration of the service on this machine')
    .requiredOption('--network <id>', 'the network')
    .requiredOption('--from <dir>', 'folder that `slotline backup` made')
    .action(async ({ config, ...options }) =>
      (await import('../storage/restore.js')).restore(load(config), options),
    )
}

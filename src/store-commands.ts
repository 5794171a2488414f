import type { Command } from 'commander'
import { integer } from './command-arguments.js'
import type { Config } from './config.js'

/** Rows a second: from one that is hardly there to one that knows no bound. */
const rate = integer(1, 1_000_000_000)

/** `slotline verify`: what is done with stores beside the service. */
export const addStoreCommands = (program: Command, load: (file: string) => Config): void => {
  program
    .command('verify')
    .description('recompute the indexes from the accounts, beside the running service, and compare')
    .requiredOption('--config <file>', 'configuration of the service on this machine')
    .option('--network <id>', 'only this network')
    .option('--rate <rows>', 'rows a second (default: verify.rowsPerSecondMax)', rate)
    .option('--json', 'print the result as one line of JSON')
    .action(async ({ config, ...options }) => {
      try {
        const { verify } = await import('./processes/verify.js')
        process.exitCode = await verify(load(config), options)
      } catch (error) {
        // 1 is said of differences.
        const [line = ''] = String(error instanceof Error ? error.message : error).split('\n', 1)
        process.stderr.write(`slotline: ${line}\n`)
        process.exitCode = 2
      }
    })
}

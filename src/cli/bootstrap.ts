import type { Command } from 'commander'
import { line } from './arguments.js'
import { exitWithAnswer, type LoadConfig } from './command.js'

/** `slotline bootstrap`: makes a network's store from an RPC, and cancels a bootstrap. */
export const addBootstrapCommands = (program: Command, load: LoadConfig): void => {
  const bootstrap = program
    .command('bootstrap')
    .description('build the store of a network from an upstream RPC, or cancel a bootstrap')
  bootstrap
    .command('rpc')
    .description('from networks.accountsRpc, for a network with a scope')
    .requiredOption('--config <file>', 'configuration of the service on this machine')
    .requiredOption('--network <id>', 'the network')
    .action(async ({ config, network }) => {
      const { runPlan } = await import('./run-bootstrap.js')
      process.title = 'slotline bootstrap'
      return runPlan(await load(config), network, { kind: 'rpc' })
    })
  bootstrap
    .command('cancel')
    .description('cancel the running bootstrap, of a snapshot too, and remove its files')
    .requiredOption('--config <file>', 'configuration of the service on this machine')
    .requiredOption('--network <id>', 'the network')
    .option('--reason <text>', 'shown by `slotline status` and in the log', line)
    .action(({ config, network, reason = 'by `slotline bootstrap cancel`' }) =>
      exitWithAnswer(async () => {
        const { cancelBootstrap } = await import('./cancel-bootstrap.js')
        return cancelBootstrap(await load(config), { network, reason })
      }),
    )
}

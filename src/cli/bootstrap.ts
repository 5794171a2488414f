import type { Command } from 'commander'
import { line } from './arguments.js'
import { exitWithAnswer, withService, type ConfigLoader } from './command.js'

/** `slotline bootstrap`: makes a network's store from an RPC or a peer, or cancels that. */
export const addBootstrapCommands = (program: Command, load: ConfigLoader): void => {
  const bootstrap = program
    .command('bootstrap')
    .description(
      'build the store of a network from an upstream RPC or a peer, or cancel a bootstrap',
    )
  withService(bootstrap.command('rpc'))
    .description('from networks.accountsRpc, for a network with a scope')
    .requiredOption('--network <id>', 'the network')
    .action(async ({ network, ...service }) => {
      const { runPlan } = await import('./run-bootstrap.js')
      process.title = 'slotline bootstrap'
      const config = await load.service(service, { needsSecrets: true })
      return runPlan(config, network, { kind: 'rpc' })
    })
  withService(bootstrap.command('peer'))
    .description('from another machine of the cluster, which copies its store')
    .requiredOption('--network <id>', 'the network')
    .requiredOption('--from <machine>', 'the machine, as `slotline cluster machines` lists it')
    .action(async ({ network, from, ...service }) => {
      const { findPeer } = await import('./cluster/find-peer.js')
      const { runPlan } = await import('./run-bootstrap.js')
      process.title = 'slotline bootstrap'
      const config = await load.service(service, { needsSecrets: true })
      return runPlan(config, network, await findPeer(config, from))
    })
  withService(bootstrap.command('cancel'))
    .description('cancel the running bootstrap, of a snapshot too, and remove its files')
    .requiredOption('--network <id>', 'the network')
    .option('--reason <text>', 'shown by `slotline status` and in the log', line)
    .action(({ network, reason = 'by `slotline bootstrap cancel`', ...service }) =>
      exitWithAnswer(async () => {
        const { cancelBootstrap } = await import('./cancel-bootstrap.js')
        return cancelBootstrap(await load.service(service), { network, reason })
      }),
    )
}

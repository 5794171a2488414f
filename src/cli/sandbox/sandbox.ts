import type { Command } from 'commander'
import { integer } from '../arguments.js'

const LEFT_OUT = 'this package has no sandbox: run `npm start` in a checkout of the sources'

/** `slotline sandbox`: a complete local deployment on its own chain. */
export const addSandboxCommand = (program: Command): void => {
  program
    .command('sandbox')
    .description('run a complete local deployment with its own dev chain')
    .option('--port <port>', 'first of the ports', integer(1, 65_470), 8_899)
    .option('--data-dir <dir>', 'data directory', '.slotline')
    .option('--account-dir <dir>', 'load every {pubkey, account} JSON file of this folder')
    .option('--traffic <count>', 'transfers per second', integer(0, 10_000), 2)
    .option('--slot-ms <ms>', 'duration of a slot', integer(10, 60_000), 200)
    .option(
      '--finalized-after-slots <count>',
      'slots from confirmed to final: 0 as in Alpenglow, 32 as in TowerBFT',
      integer(0, 512),
      0,
    )
    .option('--edges <count>', 'edge processes (default: one less than the cores)', integer(1, 256))
    .option('--machines <count>', 'machines that share their accesses over etcd', integer(3, 9))
    .action(async ({ traffic: trafficPerSecond, edges: edgeCount, ...flags }) => {
      const { runSandbox } = await import('./run-sandbox.js').catch((error: unknown) => {
        const isLeftOut = error instanceof Error && error.message.includes('run-sandbox')
        throw isLeftOut ? new Error(LEFT_OUT) : error
      })
      return runSandbox({ ...flags, trafficPerSecond, edgeCount })
    })
}

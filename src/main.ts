#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addAccessCommands } from './cli/access.js'
import { integer } from './cli/arguments.js'
import { EXAMPLE, formatConfig, parseConfig, type Config } from './config/config.js'
import { addStoreCommands } from './cli/store.js'
import { UWS_ENVIRONMENT } from './server/options.js'

const load = (file: string): Config => parseConfig(readFileSync(file, 'utf8'), file)

const program = new Command('slotline')
  .description('Solana RPC access point and transaction relay')
  .exitOverride(error => process.exit(error.exitCode === 0 ? 0 : 2))

// Each command loads only what it needs: a configuration can be checked where the addon is not
// built.
program
  .command('serve')
  .description('run the service of this machine')
  .requiredOption('--config <file>', 'TOML file; see `slotline config dump`')
  .action(async ({ config }) => (await import('./cli/serve.js')).serve(load(config)))
program
  .command('sandbox')
  .description('run a complete local deployment on a dev chain of its own')
  .option('--port <port>', 'first of the ports', integer(1, 65_525), 8_899)
  .option('--data-dir <dir>', 'where everything is stored', '.slotline')
  .option('--account-dir <dir>', 'load every {pubkey, account} JSON file of this folder')
  .option('--traffic <count>', 'transfers a second', integer(0, 10_000), 2)
  .option('--slot-ms <ms>', 'time of a slot', integer(10, 60_000), 400)
  .option('--edges <count>', 'edge processes (default: one less than the cores)', integer(1, 256))
  .action(async ({ traffic: trafficPerSecond, edges: edgeCount, ...flags }) =>
    (await import('./cli/sandbox.js')).runSandbox({
      ...flags,
      trafficPerSecond,
      edgeCount,
    }),
  )
const config = program.command('config').description('look at a configuration')
config
  .command('check <file>')
  .description('say what is wrong in a file')
  .action(file => void load(file))
config
  .command('dump [file]')
  .description('print the effective configuration; without a file, every default')
  .action(file => void process.stdout.write(formatConfig(file ? load(file) : EXAMPLE)))
addAccessCommands(program, load)
addStoreCommands(program, load)
program.command('role <role>', { hidden: true }).action(async role => {
  Object.assign(process.env, UWS_ENVIRONMENT)
  const { isRole, runRole } = await import('./processes/role.js')
  return isRole(role) ? runRole(role) : program.error('error: no such role')
})
program.parseAsync().catch((error: unknown) => {
  const [line = ''] = String(error instanceof Error ? error.message : error).split('\n', 1)
  process.stderr.write(`slotline: ${line}\n`)
  process.exit(1)
})

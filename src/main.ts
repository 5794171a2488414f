#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addAccessCommands } from './cli/access.js'
import { addBackupCommand } from './cli/backup.js'
import { addBootstrapCommands } from './cli/bootstrap.js'
import { formatError } from './cli/command.js'
import { addConfigCommands } from './cli/config.js'
import { addRestoreCommand } from './cli/restore.js'
import { addSandboxCommand } from './cli/sandbox.js'
import { addServeCommand } from './cli/serve.js'
import { addSnapshotCommands } from './cli/snapshot.js'
import { addStatusCommand } from './cli/status.js'
import { addVerifyCommand } from './cli/verify.js'
import { parseConfig, type Config } from './config/config.js'
import { UWS_ENVIRONMENT } from './server/options.js'

const load = (file: string): Config => parseConfig(readFileSync(file, 'utf8'), file)

const program = new Command('slotline')
  .description('Solana RPC access point and transaction relay')
  .exitOverride(error => process.exit(error.exitCode === 0 ? 0 : 2))

// Each command imports what it runs when it runs: some are used where the addon is not built.
addServeCommand(program, load)
addSandboxCommand(program)
addConfigCommands(program, load)
addAccessCommands(program, load)
addStatusCommand(program, load)
addVerifyCommand(program, load)
addBackupCommand(program, load)
addSnapshotCommands(program, load)
addBootstrapCommands(program, load)
addRestoreCommand(program, load)
program.command('role <role>', { hidden: true }).action(async role => {
  Object.assign(process.env, UWS_ENVIRONMENT)
  const { isRole, runRole } = await import('./processes/role.js')
  return isRole(role) ? runRole(role) : program.error('error: no such role')
})
program.parseAsync().catch((error: unknown) => {
  process.stderr.write(formatError(error))
  process.exit(1)
})

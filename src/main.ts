#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addAccessCommands } from './cli/access.js'
import { addBackupCommand } from './cli/backup.js'
import { addBootstrapCommands } from './cli/bootstrap.js'
import { formatError, type LoadConfig } from './cli/command.js'
import { addConfigCommands } from './cli/config.js'
import { addRestoreCommand } from './cli/restore.js'
import { addSandboxCommand } from './cli/sandbox.js'
import { addServeCommand } from './cli/serve.js'
import { addSnapshotCommands } from './cli/snapshot.js'
import { addStatusCommand } from './cli/status.js'
import { addVerifyCommand } from './cli/verify.js'

const load: LoadConfig = async file => {
  const { parseConfig } = await import('./config/config.js')
  return parseConfig(readFileSync(file, 'utf8'), file)
}

const program = new Command('slotline')
  .description('Solana RPC access point and transaction relay')
  .exitOverride(error => process.exit(error.exitCode === 0 ? 0 : 2))

// Each command imports what it runs when it runs: it starts sooner, and some are used where the
// addon is not built.
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
program.parseAsync().catch((error: unknown) => {
  process.stderr.write(formatError(error))
  process.exit(1)
})

import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addAccessCommands } from './access.js'
import { addBackupCommand } from './backup.js'
import { addBootstrapCommands } from './bootstrap.js'
import type { LoadConfig } from './command.js'
import { addConfigCommands } from './config.js'
import { addRestoreCommand } from './restore.js'
import { addSandboxCommand } from './sandbox.js'
import { addServeCommand } from './serve.js'
import { addSnapshotCommands } from './snapshot.js'
import { addStatusCommand } from './status.js'
import { addVerifyCommand } from './verify.js'

const load: LoadConfig = async file => {
  const { parseConfig } = await import('../config/config.js')
  return parseConfig(readFileSync(file, 'utf8'), file)
}

/** The command line. A wrong one exits with code 2. */
export const createProgram = (): Command => {
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
  return program
}

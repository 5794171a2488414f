import { Command } from 'commander'
import { formatVersion } from '../supervision/build.js'
import { addAccessCommands, addAuditCommand, addUsageCommand } from './access.js'
import { addAdminCommands } from './admin/admin.js'
import { addBackupCommand } from './backup.js'
import { addBootstrapCommands } from './bootstrap.js'
import { addClusterCommands } from './cluster/cluster.js'
import type { ConfigLoader } from './command.js'
import { addConfigCommands } from './config.js'
import { addInitCommand } from './init/init.js'
import { addRestoreCommand } from './restore.js'
import { addReloadCommand, addUpgradeCommand } from './service/reload.js'
import { addSandboxCommand } from './sandbox/sandbox.js'
import { addServeCommand } from './serve.js'
import { addSnapshotCommands } from './snapshot.js'
import { addStatusCommand } from './status.js'
import { addVerifyCommand } from './verify.js'

/** Variables of the environment; secrets are deleted from it once they are read. */
type Environment = Record<string, string | undefined>

const createLoader = (environment: Environment): ConfigLoader => {
  // A later load reads the same variables again.
  const all = { ...environment }
  return {
    environment: all,
    file: async file => {
      const { loadConfig } = await import('../config/load.js')
      const loaded = loadConfig(file, all)
      // Child processes inherit the environment, and each may have its own secrets only.
      for (const name of loaded.secretVariables) delete environment[name]
      return loaded
    },
    service: async ({ config, dataDir }, needs = { needsSecrets: false }) => {
      const { loadConfig, loadServiceConfig } = await import('../config/load.js')
      if (config !== undefined) return loadConfig(config, all, needs).config
      return loadServiceConfig(dataDir ?? '', all, needs)
    },
  }
}

/** The command line, with the environment of the process. A wrong one exits with code 2. */
export const createProgram = (environment: Environment): Command => {
  const load = createLoader(environment)
  const program = new Command('slotline')
    .description('Solana RPC access point and transaction relay')
    .option('--version', 'print the version, the commit and the Node.js that run')
    .on('option:version', () => {
      process.stdout.write(formatVersion())
      process.exit(0)
    })
    .exitOverride(error => process.exit(error.exitCode === 0 ? 0 : 2))

  // Each command imports what it runs when it runs: it starts sooner, and some are used where the
  // addon is not built.
  addInitCommand(program)
  addServeCommand(program, load, environment)
  addReloadCommand(program, load)
  addUpgradeCommand(program, load)
  addSandboxCommand(program)
  addConfigCommands(program, load)
  addAccessCommands(program, load)
  addAdminCommands(program, load)
  addAuditCommand(program, load)
  addUsageCommand(program, load)
  addClusterCommands(program, load)
  addStatusCommand(program, load)
  addVerifyCommand(program, load)
  addBackupCommand(program, load)
  addSnapshotCommands(program, load)
  addBootstrapCommands(program, load)
  addRestoreCommand(program, load)
  return program
}

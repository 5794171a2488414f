import { Option, type Command } from 'commander'
import type { Config } from '../config/config.js'
import type { Log } from '../shared/log.js'
import type { ConfigLoader } from './command.js'
import {
  faultsOf,
  TAKE_OVER,
  watchChanges,
  type Environment,
  type ServableConfig,
  type Serving,
} from './service/serving.js'
import { exitOnSignal, SANDBOX_SIGNALS } from './service/signals.js'

/** Time for the last message to reach the other supervisor. */
const EXIT_DELAY_MS = 50

/** Reads a configuration file with all checks of `config check`. Throws with every fault. */
const loadServable = async (load: ConfigLoader, file: string): Promise<ServableConfig> => {
  const { ConfigError } = await import('../config/config.js')
  const { checkMachine } = await import('../config/machine/machine-checks.js')
  const { demandPrivateFiles } = await import('../config/secrets/private-files.js')
  const loaded = await load.file(file)
  demandPrivateFiles(loaded)
  const { faults, warnings } = checkMachine(loaded.config)
  if (faults.length > 0) throw new ConfigError(faults.map(({ message }) => message))
  return { ...loaded, warnings: warnings.map(({ message }) => message) }
}

type Loader = () => Promise<ServableConfig>

type Environments = {
  /** Of this process. */
  readonly environment: Record<string, string | undefined>
  /** The same with the secrets that left it. */
  readonly all: Environment
}

/** The log of this process, and the service manager that started it. */
const openProcess = async (
  config: Config,
  environment: Environments['environment'],
): Promise<Pick<Serving, 'flush' | 'log' | 'manager'>> => {
  const { openLog } = await import('../shared/log.js')
  const { openServiceManager } = await import('../supervision/service-manager.js')
  process.title = 'slotline supervisor'
  const { log, flush } = openLog('supervisor', config.log)
  return { log, flush, manager: openServiceManager(environment, log) }
}

/** The service runs in this process: commands find it from now on. */
const announce = async ({ config, file, warnings }: ServableConfig, log: Log): Promise<void> => {
  const { writeServiceFile } = await import('../config/service-file.js')
  writeServiceFile(config.dataDir, { configFile: file })
  for (const warning of warnings) log.warn(warning)
}

const serve = async (load: Loader, { environment, all }: Environments): Promise<void> => {
  const { startService } = await import('../processes/start-service.js')
  const loaded = await load()
  const { config } = loaded
  const own = await openProcess(config, environment)
  const removeHandlers = exitOnSignal()
  const service = await startService(config, own.log)
  await watchChanges({ ...own, service, load, environment: all }, config)
  removeHandlers()
  await announce(loaded, own.log)
  own.log.info({ dataDir: config.dataDir }, 'every process is ready')
  own.manager.ready()
}

/** Runs the service that another supervisor hands over. Ends where that continues. */
const takeOver = async (load: Loader, { environment, all }: Environments): Promise<void> => {
  const { takeOverService } = await import('../processes/start-service.js')
  const { Predecessor } = await import('../supervision/takeover.js')
  const exit = (): void => process.exit(1)
  process.once('disconnect', exit)
  // Until it has the service, the other process reacts to signals.
  const ignore = (): void => {}
  for (const signal of SANDBOX_SIGNALS) process.on(signal, ignore)
  let isStopping = false
  let stop = (): void => process.exit(0)
  const predecessor = await Predecessor.connect(() => stop())
  try {
    predecessor.demandVersion()
    const loaded = await load()
    const own = await openProcess(loaded.config, environment)
    const { service, replaced, finish } = takeOverService(loaded.config, own.log, predecessor)
    stop = () => {
      isStopping = true
      void service.drain().finally(() => process.exit(0))
    }
    await replaced
    const serving = { ...own, service, load, environment: all }
    const changes = await watchChanges(serving, loaded.config)
    for (const signal of SANDBOX_SIGNALS) process.off(signal, ignore)
    await announce(loaded, own.log)
    // After it nothing serves where this process ends: what can fail is before.
    await finish()
    process.off('disconnect', exit)
    own.manager.ready()
    const message = `every process is replaced: process ${process.pid} has the service`
    changes.report({ kind: 'upgrade', ...predecessor.state.request }, { isDone: true, message })
    predecessor.disconnect()
  } catch (error) {
    if (isStopping) return
    predecessor.fail(faultsOf(error).message)
    setTimeout(exit, EXIT_DELAY_MS)
  }
}

/** `slotline serve`: runs the service of one machine with the configured feeds. */
export const addServeCommand = (
  program: Command,
  load: ConfigLoader,
  environment: Environments['environment'],
): void => {
  program
    .command('serve')
    .description('run the service of this machine')
    .requiredOption('--config <file>', 'TOML file; see `slotline init`')
    .addOption(new Option(TAKE_OVER, 'take the service over from the parent process').hideHelp())
    .action(({ config, takeOver: isTakeover }) => {
      const run = isTakeover === true ? takeOver : serve
      return run(() => loadServable(load, config), { environment, all: load.environment })
    })
}

import { Option, type Command } from 'commander'
import type { Config } from '../config/config.js'
import type { LoadedConfig } from '../config/load.js'
import type { Service } from '../processes/service.js'
import type { ChangeCause, ServiceChanges } from '../processes/service-changes.js'
import type { ServiceManager } from '../processes/service-manager.js'
import type { Log } from '../shared/log.js'
import type { ConfigLoader } from './command.js'

/** Signals that end the service: of a service manager, and of Ctrl-C. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Of a supervisor that another one has started to take its service over. */
const TAKE_OVER = '--take-over'

/** Time for the last message to reach the other supervisor. */
const EXIT_DELAY_MS = 50

/** The same with that of a terminal that closes, which reloads a service. */
export const SANDBOX_SIGNALS = [...SIGNALS, 'SIGHUP'] as const

/**
 * Exits with code 0 on a signal before the service is up: there is nothing to drain, and children
 * exit with their parent. Returns a function that removes the handlers.
 */
export const exitOnSignal = (): (() => void) => {
  const exit = (): void => process.exit(0)
  for (const signal of SANDBOX_SIGNALS) process.on(signal, exit)
  return () => {
    for (const signal of SANDBOX_SIGNALS) process.off(signal, exit)
  }
}

/** Drains on the first signal and exits with code 0; a second one exits at once. */
export const drainOnSignal = (
  service: Pick<Service, 'drain'>,
  {
    log,
    flush,
    drainMs,
    onDrain = () => {},
    signals = SIGNALS,
  }: {
    readonly log: Log
    readonly flush: () => void
    readonly drainMs: () => number
    readonly onDrain?: () => void
    readonly signals?: readonly NodeJS.Signals[]
  },
): void => {
  let startedMs: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    if (startedMs !== undefined) {
      log.warn({ signal }, 'a second signal: ending at once, requests in flight are lost')
      flush()
      process.exit(1)
    }
    startedMs = Date.now()
    onDrain()
    const since = startedMs
    log.info(
      { signal, drainMs: drainMs() },
      'draining: requests in flight are finished, then every process ends',
    )
    void service.drain().finally(() => {
      log.info({ signal, tookMs: Date.now() - since }, 'every process has ended')
      flush()
      process.exit(0)
    })
  }
  for (const signal of signals) process.on(signal, onSignal)
}

type Environment = Record<string, string | undefined>

/** A configuration that the service can run with, and what it should be warned of. */
type ServableConfig = LoadedConfig & { readonly warnings: readonly string[] }

/** Reads a configuration file with all checks of `config check`. Throws with every fault. */
const loadServable = async (load: ConfigLoader, file: string): Promise<ServableConfig> => {
  const { ConfigError } = await import('../config/config.js')
  const { checkMachine } = await import('../config/machine-checks.js')
  const { demandPrivateFiles } = await import('../config/secrets/private-files.js')
  const loaded = await load.file(file)
  demandPrivateFiles(loaded)
  const { faults, warnings } = checkMachine(loaded.config)
  if (faults.length > 0) throw new ConfigError(faults.map(({ message }) => message))
  return { ...loaded, warnings: warnings.map(({ message }) => message) }
}

/** An error with every fault of a configuration, one in a line. */
const faultsOf = (error: unknown): Error => {
  const faults = error instanceof Error && 'faults' in error ? error.faults : undefined
  if (Array.isArray(faults)) return new Error(faults.join('\n'))
  return error instanceof Error ? error : new Error(String(error))
}

/** Loads the file again and replaces what it changes. Answers what was done in one line. */
const reload = async ({ service, load, log }: Serving): Promise<string> => {
  const { config, file, warnings } = await load().catch((error: unknown) => {
    throw faultsOf(error)
  })
  const replaced = await service.reload(config, { isForced: false })
  for (const warning of warnings) log.warn(warning)
  return replaced.length === 0
    ? `${file} is loaded: no process is replaced`
    : `${file} is loaded: replaced ${replaced.join(', ')}`
}

/** What a service in this process needs beside its children. */
type Serving = {
  readonly service: Service
  readonly load: () => Promise<ServableConfig>
  readonly environment: Environment
  readonly manager: ServiceManager
  readonly log: Log
  readonly flush: () => void
}

/** Replaces this process by the build on the disk. Rejects where that cannot take over. */
const upgrade = async (
  { service, environment, manager, log, flush }: Serving,
  { id, from }: ChangeCause,
): Promise<never> => {
  // Its end would be that of the container.
  if (process.pid === 1) throw new Error('the first process of a container cannot be replaced')
  const [, module = '', ...args] = process.argv
  const program = {
    module,
    args: args.includes(TAKE_OVER) ? args : [...args, TAKE_OVER],
    environment: { ...environment, ...manager.variables },
  }
  await service.handOver(program, { id, from }, pid => {
    manager.replacedBy(pid)
    log.info({ childPid: pid }, 'another process has the service: this one ends')
  })
  flush()
  process.exit(0)
}

/** Reacts to requests and signals from now on. */
const watchChanges = async (serving: Serving, config: Config): Promise<ServiceChanges> => {
  const { ServiceChanges } = await import('../processes/service-changes.js')
  const { service, manager, log, flush } = serving
  const changes = new ServiceChanges({
    dataDir: config.dataDir,
    pollMs: config.processes.changePollMs,
    run: cause => (cause.kind === 'upgrade' ? upgrade(serving, cause) : reload(serving)),
    record: change => service.recordChange(change),
    log,
  })
  const onDrain = (): void => {
    changes.stop()
    manager.stopping()
  }
  process.on('SIGHUP', signal => changes.onSignal(signal))
  drainOnSignal(service, { log, flush, drainMs: () => service.drainMs, onDrain })
  return changes
}

const serve = async (
  load: () => Promise<ServableConfig>,
  environment: Environment,
  all: Environment,
): Promise<void> => {
  const { openLog } = await import('../shared/log.js')
  const { startService } = await import('../processes/start-service.js')
  const { openServiceManager } = await import('../processes/service-manager.js')
  const { writeServiceFile } = await import('../config/service-file.js')
  const { config, file, warnings } = await load()
  process.title = 'slotline supervisor'
  const { log, flush } = openLog('supervisor', config.log)
  const manager = openServiceManager(environment, log)
  const removeHandlers = exitOnSignal()
  const service = await startService(config, log)
  await watchChanges({ service, load, environment: all, manager, log, flush }, config)
  removeHandlers()
  writeServiceFile(config.dataDir, { configFile: file })
  for (const warning of warnings) log.warn(warning)
  log.info({ dataDir: config.dataDir }, 'every process is ready')
  manager.ready()
}

/** Runs the service that another supervisor hands over. Ends where that goes on. */
const takeOver = async (
  load: () => Promise<ServableConfig>,
  environment: Environment,
  all: Environment,
): Promise<void> => {
  const { openLog } = await import('../shared/log.js')
  const { takeOverService } = await import('../processes/start-service.js')
  const { openServiceManager } = await import('../processes/service-manager.js')
  const { writeServiceFile } = await import('../config/service-file.js')
  const { Predecessor } = await import('../supervision/takeover.js')
  process.title = 'slotline supervisor'
  process.once('disconnect', () => process.exit(1))
  // Until it has the service, the other process reacts to signals.
  for (const signal of SANDBOX_SIGNALS) process.on(signal, () => {})
  let isStopping = false
  let stop = (): void => process.exit(0)
  const predecessor = await Predecessor.connect(() => stop())
  try {
    predecessor.demandVersion()
    const { config, file, warnings } = await load()
    const { log, flush } = openLog('supervisor', config.log)
    const manager = openServiceManager(environment, log)
    const { service, taken } = takeOverService(config, log, predecessor)
    stop = () => {
      isStopping = true
      void service.drain().finally(() => process.exit(0))
    }
    await taken
    for (const signal of SANDBOX_SIGNALS) process.removeAllListeners(signal)
    const serving = { service, load, environment: all, manager, log, flush }
    const changes = await watchChanges(serving, config)
    writeServiceFile(config.dataDir, { configFile: file })
    for (const warning of warnings) log.warn(warning)
    manager.ready()
    const message = `every process is replaced: process ${process.pid} has the service`
    changes.report({ kind: 'upgrade', ...predecessor.state.request }, { isDone: true, message })
    process.removeAllListeners('disconnect')
    process.disconnect()
  } catch (error) {
    if (isStopping) return
    predecessor.fail(faultsOf(error).message)
    // Time for the message.
    setTimeout(() => process.exit(1), EXIT_DELAY_MS)
  }
}

/** `slotline serve`: runs the service of one machine with the configured feeds. */
export const addServeCommand = (
  program: Command,
  load: ConfigLoader,
  environment: Environment,
): void => {
  program
    .command('serve')
    .description('run the service of this machine')
    .requiredOption('--config <file>', 'TOML file; see `slotline init`')
    .addOption(new Option(TAKE_OVER, 'take the service over from the parent process').hideHelp())
    .action(({ config, takeOver: isTakeover }) => {
      const run = isTakeover === true ? takeOver : serve
      return run(() => loadServable(load, config), environment, load.environment)
    })
}

import type { Command } from 'commander'
import type { LoadedConfig } from '../config/load.js'
import type { Service } from '../processes/supervisor.js'
import type { Log } from '../shared/log.js'
import type { ConfigLoader } from './command.js'

/** Signals that end the service: of a service manager, and of Ctrl-C. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const

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

/** Loads the file again and replaces what it changes. Answers what was done in one line. */
const reload = async (
  service: Service,
  { load, log }: { readonly load: () => Promise<ServableConfig>; readonly log: Log },
): Promise<string> => {
  const { config, file, warnings } = await load().catch((error: unknown) => {
    const faults = error instanceof Error && 'faults' in error ? error.faults : undefined
    throw Array.isArray(faults) ? new Error(faults.join('\n')) : error
  })
  const replaced = await service.reload(config, { isForced: false })
  for (const warning of warnings) log.warn(warning)
  return replaced.length === 0
    ? `${file} is loaded: no process is replaced`
    : `${file} is loaded: replaced ${replaced.join(', ')}`
}

const serve = async (
  load: () => Promise<ServableConfig>,
  environment: Environment,
): Promise<void> => {
  const { openLog } = await import('../shared/log.js')
  const { startService } = await import('../processes/supervisor.js')
  const { openServiceManager } = await import('../processes/service-manager.js')
  const { ServiceChanges } = await import('../processes/service-changes.js')
  const { writeServiceFile } = await import('../config/service-file.js')
  const { config, file, warnings } = await load()
  process.title = 'slotline supervisor'
  const { log, flush } = openLog('supervisor', config.log)
  const manager = openServiceManager(environment, log)
  const removeHandlers = exitOnSignal()
  const service = await startService(config, log)
  const changes = new ServiceChanges({
    dataDir: config.dataDir,
    pollMs: config.processes.changePollMs,
    run: () => reload(service, { load, log }),
    record: change => service.recordChange(change),
    log,
  })
  const onDrain = (): void => {
    changes.stop()
    manager.stopping()
  }
  process.on('SIGHUP', signal => changes.onSignal(signal))
  drainOnSignal(service, { log, flush, drainMs: () => service.drainMs, onDrain })
  removeHandlers()
  writeServiceFile(config.dataDir, { configFile: file })
  for (const warning of warnings) log.warn(warning)
  log.info({ dataDir: config.dataDir }, 'every process is ready')
  manager.ready()
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
    .action(({ config }) => serve(() => loadServable(load, config), environment))
}

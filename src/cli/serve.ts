import type { Command } from 'commander'
import type { LoadedConfig } from '../config/load.js'
import type { Service } from '../processes/supervisor.js'
import type { Log } from '../shared/log.js'
import type { ConfigLoader } from './command.js'

/** Signals that end the service: of a service manager, of Ctrl-C, of a terminal that closes. */
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * Exits with code 0 on a signal before the service is up: there is nothing to drain, and children
 * exit with their parent. Returns a function that removes the handlers.
 */
export const exitOnSignal = (): (() => void) => {
  const exit = (): void => process.exit(0)
  for (const signal of SIGNALS) process.on(signal, exit)
  return () => {
    for (const signal of SIGNALS) process.off(signal, exit)
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
  }: {
    readonly log: Log
    readonly flush: () => void
    readonly drainMs: number
    readonly onDrain?: () => void
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
      { signal, drainMs },
      'draining: requests in flight are finished, then every process ends',
    )
    void service.drain().finally(() => {
      log.info({ signal, tookMs: Date.now() - since }, 'every process has ended')
      flush()
      process.exit(0)
    })
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
}

const serve = async (
  { config, file }: LoadedConfig,
  environment: Record<string, string | undefined>,
): Promise<void> => {
  const { checkMachine } = await import('../config/machine-checks.js')
  const { openLog } = await import('../shared/log.js')
  const { startService } = await import('../processes/supervisor.js')
  const { openServiceManager } = await import('../processes/service-manager.js')
  const { writeServiceFile } = await import('../config/service-file.js')
  process.title = 'slotline supervisor'
  const { log, flush } = openLog('supervisor', config.log)
  const { faults, warnings } = checkMachine(config)
  for (const { message } of faults) throw new Error(message)
  const manager = openServiceManager(environment, log)
  const removeHandlers = exitOnSignal()
  const service = await startService(config, log)
  const { drainMs } = config.processes
  drainOnSignal(service, { log, flush, drainMs, onDrain: manager.stopping })
  removeHandlers()
  writeServiceFile(config.dataDir, { configFile: file })
  for (const { message } of warnings) log.warn(message)
  log.info({ dataDir: config.dataDir }, 'every process is ready')
  manager.ready()
}

/** `slotline serve`: runs the service of one machine with the configured feeds. */
export const addServeCommand = (
  program: Command,
  load: ConfigLoader,
  environment: Record<string, string | undefined>,
): void => {
  program
    .command('serve')
    .description('run the service of this machine')
    .requiredOption('--config <file>', 'TOML file; see `slotline init`')
    .action(async ({ config: file }) => {
      const loaded = await load.file(file)
      const { demandPrivateFiles } = await import('../config/private-files.js')
      demandPrivateFiles(loaded)
      await serve(loaded, environment)
    })
}

import type { Command } from 'commander'
import type { Config } from '../config/config.js'
import type { Service } from '../processes/supervisor.js'
import type { LoadConfig } from './command.js'

/**
 * Exits with code 0 on a signal before the service is up: there is nothing to drain, and children
 * exit with their parent. Returns a function that removes the handlers.
 */
export const exitOnSignal = (): (() => void) => {
  const exit = (): void => process.exit(0)
  process.on('SIGTERM', exit)
  process.on('SIGINT', exit)
  return () => {
    process.off('SIGTERM', exit)
    process.off('SIGINT', exit)
  }
}

/** Drains on the first SIGTERM or SIGINT and exits with code 0; a second one exits at once. */
export const drainOnSignal = (service: Service, flush: () => void): void => {
  let isDraining = false
  const onSignal = (): void => {
    if (isDraining) process.exit(1)
    isDraining = true
    void service.drain().finally(() => {
      flush()
      process.exit(0)
    })
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

const serve = async (config: Config): Promise<void> => {
  const { openLog } = await import('../shared/log.js')
  const { startService } = await import('../processes/supervisor.js')
  process.title = 'slotline supervisor'
  const { log, flush } = openLog('supervisor', config.log)
  const removeHandlers = exitOnSignal()
  const service = await startService(config, log)
  drainOnSignal(service, flush)
  removeHandlers()
  log.info({ dataDir: config.dataDir }, 'every process is ready')
}

/** `slotline serve`: runs the service of one machine with the configured feeds. */
export const addServeCommand = (program: Command, load: LoadConfig): void => {
  program
    .command('serve')
    .description('run the service of this machine')
    .requiredOption('--config <file>', 'TOML file; see `slotline config dump`')
    .action(async ({ config }) => serve(await load(config)))
}

import type { Config } from '../config/config.js'
import { openLog } from '../shared/log.js'
import { startService, type Service } from '../processes/supervisor.js'

/**
 * Exits with code 0 when it is told to before the service is up: there is nothing to drain, and
 * children end with their parent. Returns what takes this back.
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

/** Drains at the first SIGTERM or SIGINT and exits with code 0; a second one does not wait. */
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

/** `slotline serve`: the service of one machine, against the configured feeds. */
export const serve = async (config: Config): Promise<void> => {
  process.title = 'slotline supervisor'
  const { log, flush } = openLog('supervisor', config.log)
  const started = exitOnSignal()
  const service = await startService(config, log)
  drainOnSignal(service, flush)
  started()
  log.info({ dataDir: config.dataDir }, 'every process is ready')
}

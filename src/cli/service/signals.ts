import type { Service } from '../../supervision/service.js'
import type { Log } from '../../shared/log.js'

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

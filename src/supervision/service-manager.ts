import { notifyServiceManager } from '../native/os.js'
import type { Log } from '../shared/log.js'

/** The service manager that started this process, as systemd with `Type=notify`. */
export type ServiceManager = {
  /** Every process is ready. From here on the manager gets a sign of life at intervals. */
  ready(): void
  /** What a process that replaces this one needs of the environment. */
  readonly variables: Readonly<Record<string, string>>
  /** Another process has the service. */
  replacedBy(pid: number): void
  /** The service drains. The watchdog is satisfied until it has ended. */
  stopping(): void
}

type Environment = Record<string, string | undefined>

/** Of the time after which the manager ends a service that is silent: systemd advises a half. */
const WATCHDOG_SHARE = 0.5

const watchdogMs = ({ WATCHDOG_PID: pid, WATCHDOG_USEC: micros }: Environment): number => {
  const isForThis = pid === undefined || Number(pid) === process.pid
  const ms = Number(micros) / 1_000
  return isForThis && ms > 0 ? ms * WATCHDOG_SHARE : 0
}

/**
 * Finds the service manager in the environment, and removes it from there: child processes must not
 * speak for the service. Without one nothing is sent.
 */
export const openServiceManager = (environment: Environment, log: Log): ServiceManager => {
  const socket = environment['NOTIFY_SOCKET'] ?? ''
  const intervalMs = watchdogMs(environment)
  const micros = environment['WATCHDOG_USEC'] ?? ''
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_PID', 'WATCHDOG_USEC']) delete environment[name]

  let hasFailed = false
  const send = (message: string): void => {
    if (socket === '') return
    try {
      notifyServiceManager(socket, message)
      hasFailed = false
    } catch (error) {
      if (!hasFailed) log.warn({ err: error }, 'the service manager cannot be notified')
      hasFailed = true
    }
  }
  return {
    variables: socket === '' ? {} : { NOTIFY_SOCKET: socket, WATCHDOG_USEC: micros },
    replacedBy: pid => send(`MAINPID=${pid}\nSTATUS=upgraded`),
    ready: () => {
      send('READY=1\nSTATUS=every process is ready')
      // Sent by the event loop: a supervisor that hangs is silent.
      if (intervalMs > 0 && socket !== '') setInterval(() => send('WATCHDOG=1'), intervalMs).unref()
    },
    stopping: () => send('STOPPING=1\nSTATUS=draining'),
  }
}

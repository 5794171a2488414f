import type { Config } from '../config/config.js'
import { listenersOf } from '../config/listeners.js'
import { probePort, type PortAddress } from '../server/port.js'
import type { Log } from '../shared/log.js'
import { disableCpuIdle } from '../supervision/cpu-idle.js'
import type { Predecessor } from '../supervision/takeover.js'
import { prepareDataDir } from '../supervision/data-dir.js'
import type { ChainProvider, Service } from '../supervision/service.js'
import { Supervisor } from '../supervision/supervisor.js'

/** What differs where the configuration is no file of the operator. */
export type StartOptions = {
  readonly chainProvider?: ChainProvider
  /** The option of the command line that sets every port. */
  readonly portsOption?: string
}

const probePorts = async (
  config: Config,
  { chainProvider, portsOption }: StartOptions,
): Promise<void> => {
  const listeners: readonly PortAddress[] = [
    ...listenersOf(config),
    ...(chainProvider?.listeners ?? []),
  ]
  for (const { host, port, protocol, option } of listeners)
    await probePort({ host, port, protocol, option: portsOption ?? option })
}

const tryToDisableCpuIdle = (log: Log): void => {
  try {
    disableCpuIdle()
  } catch (error) {
    log.warn({ err: error }, 'the system does not allow disabling processor sleep states')
  }
}

/** Starts the service of one machine: every process, and a chain provider where one is given. */
export const startService = async (
  config: Config,
  log: Log,
  options: StartOptions = {},
): Promise<Service> => {
  const lock = prepareDataDir(config.dataDir)
  await probePorts(config, options)
  if (config.processes.disableCpuIdle) tryToDisableCpuIdle(log)
  const supervisor = new Supervisor(config, log, { lock, chainProvider: options.chainProvider })
  await supervisor.start()
  return supervisor
}

/** A service that this process takes over from another supervisor. */
export type Takeover = {
  readonly service: Service
  /** Rejects if a process cannot be replaced: if this one ends, the predecessor continues. */
  readonly replaced: Promise<void>
  /** Ends the predecessor, when every process is replaced. */
  finish(): Promise<void>
}

/** Begins to take the service over from another supervisor. */
export const takeOverService = (config: Config, log: Log, predecessor: Predecessor): Takeover => {
  if (config.processes.disableCpuIdle) tryToDisableCpuIdle(log)
  const { lock, config: from } = predecessor.state
  const service = new Supervisor(from, log, { lock, predecessor })
  return {
    service,
    replaced: service.takeOver(predecessor, config),
    finish: () => service.finishTakeover(predecessor),
  }
}

import type { Config } from '../../config/config.js'
import type { LoadedConfig } from '../../config/load.js'
import type { Service } from '../../supervision/service.js'
import type { ChangeCause, ServiceChanges } from '../../supervision/service-changes.js'
import type { ServiceManager } from '../../supervision/service-manager.js'
import type { Log } from '../../shared/log.js'
import { explainError } from '../../shared/files/system-error.js'
import { drainOnSignal } from './signals.js'

/** Of a supervisor that another one has started to take its service over. */
export const TAKE_OVER = '--take-over'

export type Environment = Readonly<Record<string, string | undefined>>

/** A configuration that the service can run with, and what it should be warned of. */
export type ServableConfig = LoadedConfig & { readonly warnings: readonly string[] }

/** What a service in this process needs beside its children. */
export type Serving = {
  readonly service: Service
  readonly load: () => Promise<ServableConfig>
  readonly environment: Environment
  readonly manager: ServiceManager
  readonly log: Log
  readonly flush: () => void
}

/** An error with every fault of a configuration, one in a line. */
export const faultsOf = (error: unknown): Error => {
  const faults = error instanceof Error && 'faults' in error ? error.faults : undefined
  if (Array.isArray(faults)) return new Error(faults.join('\n'))
  return new Error(explainError(error), { cause: error })
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

/** Replaces this process by the build on the disk. Rejects if that cannot take over. */
const upgrade = async (
  { service, environment, manager, log, flush }: Serving,
  { id, from }: ChangeCause,
  hasPendingSignal: () => boolean,
): Promise<never> => {
  // Its end would be that of the container.
  if (process.pid === 1) throw new Error('the first process of a container cannot be replaced')
  const [, module = '', ...args] = process.argv
  const program = {
    module,
    args: args.includes(TAKE_OVER) ? args : [...args, TAKE_OVER],
    environment: { ...environment, ...manager.variables },
  }
  const pid = await service.handOver(program, { id, from }, pid => {
    manager.replacedBy(pid)
    log.info({ childPid: pid }, 'another process has the service: this one ends')
  })
  if (hasPendingSignal()) process.kill(pid, 'SIGHUP')
  flush()
  process.exit(0)
}

/** Reacts to requests and signals from now on. */
export const watchChanges = async (serving: Serving, config: Config): Promise<ServiceChanges> => {
  const { ServiceChanges } = await import('../../supervision/service-changes.js')
  const { service, manager, log, flush } = serving
  const changes: ServiceChanges = new ServiceChanges({
    dataDir: config.dataDir,
    pollMs: config.processes.changePollMs,
    run: cause =>
      cause.kind === 'upgrade'
        ? upgrade(serving, cause, () => changes.hasPendingSignal)
        : reload(serving),
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

import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { readAdminToken } from '../../access/tokens/admin-token.js'
import type { Config } from '../../config/config.js'
import { writeServiceFile } from '../../config/service-file.js'
import { publicUrlOf } from '../../control/public-url.js'
import { startService } from '../../processes/start-service.js'
import { sandboxAccesses } from '../../sandbox/accesses.js'
import {
  sandboxConfig,
  SANDBOX_NETWORK,
  upstreamListeners,
  type SandboxFlags,
} from '../../sandbox/config.js'
import {
  describeSandbox,
  formatWelcome,
  locationUrls,
  machineUrls,
  type SandboxDetail,
  writeDescription,
} from '../../sandbox/description.js'
import { createIdentityUsers } from '../../sandbox/identity/users.js'
import { machinesOf } from '../../sandbox/machines/machines.js'
import { portsFrom } from '../../sandbox/ports.js'
import type { SandboxOptions } from '../../sandbox/process.js'
import { openLog } from '../../shared/log.js'
import { openMachines } from './run-machines.js'
import { drainOnSignal, exitOnSignal, SANDBOX_SIGNALS } from '../service/signals.js'

const startSandboxService = (config: Config, flags: SandboxFlags, options: SandboxOptions) => {
  const { log, flush } = openLog('supervisor', config.log)
  const service = startService(config, log, {
    portsOption: '--port',
    chainProvider: {
      name: 'sandbox',
      options,
      listeners: upstreamListeners(flags),
    },
  })
  return service.then(running => ({ service: running, log, flush }))
}

/** `slotline sandbox`: a complete local deployment that uses the real wire protocols. */
export const runSandbox = async (given: SandboxFlags): Promise<void> => {
  process.title = 'slotline supervisor'
  const flags = { ...given, dataDir: resolve(given.dataDir) }
  const users = createIdentityUsers(randomBytes)
  const removeHandlers = exitOnSignal()
  const others = flags.machines === undefined ? undefined : await openMachines(flags)
  const config = sandboxConfig(flags, others?.first)
  const { service, log, flush } = await startSandboxService(config, flags, { flags, users })
  const drain = async (): Promise<void> => {
    await Promise.all([service.drain(), others?.drain()])
    await others?.stopEtcd()
  }
  const { drainMs } = config.processes
  drainOnSignal({ drain }, { log, flush, drainMs: () => drainMs, signals: SANDBOX_SIGNALS })
  removeHandlers()
  writeServiceFile(config.dataDir, { config })
  await others?.start()
  const tokens = await service.ensureAccesses(
    SANDBOX_NETWORK,
    sandboxAccesses(config.locations.map(({ id }) => id)),
  )
  await service.untilIndexed()
  const ports = portsFrom(flags.port)
  const machines = flags.machines === undefined ? [] : machinesOf(flags).machines
  const { fraGrpc, nycGrpc } = flags.machines === undefined ? ports : {}
  const description = describeSandbox({
    locations: [
      locationUrls('fra', { port: ports.fra, grpcPort: fraGrpc }, tokens['fra'] ?? ''),
      locationUrls('nyc', { port: ports.nyc, grpcPort: nycGrpc }, tokens['nyc'] ?? ''),
    ],
    machines: machines.map(machine => machineUrls(machine, tokens[machine.location] ?? '')),
    dashboardUrl: publicUrlOf(config).href,
    metricsUrl: `http://127.0.0.1:${ports.metrics}/metrics`,
    adminToken: readAdminToken(config.access.adminTokenFile).reveal(),
    users,
    detail: service.chainProviderDetail() as SandboxDetail,
  })
  writeDescription(join(flags.dataDir, 'sandbox.json'), description)
  process.stdout.write(formatWelcome(description))
}

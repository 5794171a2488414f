// A machine of `slotline sandbox --machines` beside the first one, in a process of its own.
import { rmSync } from 'node:fs'
import { writeServiceFile } from '../../config/service-file.js'
import { dieWithParent } from '../../native/os.js'
import { startService } from '../start-service.js'
import { SANDBOX_NETWORK, sandboxConfig } from '../../sandbox/config.js'
import { openLog } from '../../shared/log.js'
import { storesPath } from '../../storage/generations.js'
import { formatError } from '../../cli/command.js'
import type { MachineStart } from '../../cli/sandbox/run-machines.js'
import { drainOnSignal, exitOnSignal, SANDBOX_SIGNALS } from '../../cli/service/signals.js'

const run = async ({ flags, machine }: MachineStart): Promise<void> => {
  const config = sandboxConfig(flags, machine)
  // Of a chain that has ended with the last sandbox.
  rmSync(storesPath(config.dataDir, SANDBOX_NETWORK), { recursive: true, force: true })
  const { log, flush } = openLog('supervisor', config.log)
  const removeHandlers = exitOnSignal()
  const service = await startService(config, log, { portsOption: '--port' })
  const { drainMs } = config.processes
  drainOnSignal(service, { log, flush, drainMs: () => drainMs, signals: SANDBOX_SIGNALS })
  removeHandlers()
  writeServiceFile(config.dataDir, { config })
  await service.untilIndexed()
  process.send?.({})
}

process.title = 'slotline supervisor'
process.umask(0o077)
if (!dieWithParent(process.ppid)) process.exit(1)
process.once('message', start =>
  run(start as MachineStart).catch((error: unknown) => {
    process.stderr.write(formatError(error))
    process.exit(1)
  }),
)

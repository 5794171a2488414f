import { mkdirSync } from 'node:fs'
import t from 'tap'
import { demandResponsive } from '../../../src/cli/service/indexer-process.js'
import type { Config } from '../../../src/config/config.js'
import { storesPath } from '../../../src/storage/generations.js'
import { writeStatus } from '../../../src/storage/status-file.js'

/** Longer than a status may be late. */
const SILENT_MS = 2_000
/** No process: above the system's largest id. */
const ENDED_PID = 2 ** 22 + 1

t.test('an indexer is reported that lives and does not write its status', async t => {
  const config = { dataDir: t.testdir(), status: { writeMs: 1_000, staleMs: 5_000 } } as Config
  const stores = storesPath(config.dataDir, 'one')
  mkdirSync(stores, { recursive: true })
  const demand = () => demandResponsive(config, 'one', 'it goes on later')
  const base = { network: 'one', generation: '1', tip: null, isHealthy: true, source: '' }
  const cases: [name: string, pid: number, ageMs: number, isReported: boolean][] = [
    ['it writes', process.pid, 900, false],
    ['it is silent', process.pid, SILENT_MS, true],
    ['it has ended, and is started again', ENDED_PID, SILENT_MS, false],
  ]
  t.doesNotThrow(demand, 'there has been none yet')
  for (const [name, pid, ageMs, isReported] of cases) {
    writeStatus(stores, { ...base, pid, atMs: Date.now() - ageMs })
    if (isReported)
      t.throws(demand, { message: /^the indexer of one \(process \d+\) .* ms: it goes on later, / })
    else t.doesNotThrow(demand, name)
  }
})

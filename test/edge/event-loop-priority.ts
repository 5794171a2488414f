import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import t from 'tap'
import { toConfig, type Config } from '../../src/config/config.js'
import { comeFirst } from '../../src/edge/event-loop-priority.js'
import { defaults as logDefaults, openLog } from '../../src/shared/log.js'
import { until } from '../fixtures/until.js'

const ORDINARY = 0
const ROUND_ROBIN = 2
/** Of a process's `stat`, counted from the one after its name. */
const POLICY_FIELD = 38

const configOf = (processes: Partial<Config['processes']>): Config =>
  toConfig({
    dataDir: 'unused',
    networks: [{ id: 'main', feed: { endpoint: 'http://127.0.0.1:9' } }],
    locations: [{ id: 'here', name: 'Here', listeners: [{ host: '127.0.0.1', port: 1 }] }],
    processes,
  })

const policy = (): number => {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[POLICY_FIELD])
}

const isRoot = process.getuid?.() === 0

t.test(
  'an event loop comes first where others keep a core',
  { skip: process.platform !== 'linux' },
  async t => {
    const { log } = openLog('come-first', { ...logDefaults, level: 'silent' })
    comeFirst(configOf({ edgeRealtime: false, edgeCount: 1 }), log)
    t.equal(policy(), ORDINARY, 'switched off')
    comeFirst(configOf({ edgeCount: availableParallelism() }), log)
    t.equal(policy(), ORDINARY, 'every core has an edge')
    if (availableParallelism() === 1) return
    const stop = comeFirst(configOf({ edgeCount: 1 }), log)
    t.teardown(stop)
    // Containers may take it even from root: then it is as if it were switched off.
    t.ok([ORDINARY, ROUND_ROBIN].includes(policy()))
    if (!isRoot) t.equal(policy(), ORDINARY, 'not allowed')
    if (policy() === ORDINARY) return

    const endMs = Date.now() + 300
    while (Date.now() < endMs);
    await until('a loop that never rests is ordinary', () => policy() === ORDINARY)
    await until('and realtime when it has time again', () => policy() === ROUND_ROBIN)
  },
)

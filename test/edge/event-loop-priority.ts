import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import t from 'tap'
import { raiseLoopPriority } from '../../src/edge/event-loop-priority.js'
import { defaults as logDefaults } from '../../src/shared/log-options.js'
import { openLog } from '../../src/shared/log.js'
import { until } from '../fixtures/until.js'

const ORDINARY = 0
const ROUND_ROBIN = 2
/** Index of the scheduling policy in `/proc/self/stat`, counted from the field after the name. */
const POLICY_FIELD = 38

const policy = (): number => {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[POLICY_FIELD])
}

const isRoot = process.getuid?.() === 0

t.test(
  'the event loop is realtime while it has idle time, and ordinary while it is busy',
  { skip: process.platform !== 'linux' },
  async t => {
    const { log } = openLog('event-loop-priority', { ...logDefaults, level: 'silent' })
    const off = raiseLoopPriority({ sliceMicros: 100, isRealtime: false }, log)
    t.equal(off.state(), 'not-wanted')
    t.equal(policy(), ORDINARY, 'switched off')
    if (availableParallelism() === 1) return
    const priority = raiseLoopPriority({ sliceMicros: 100, isRealtime: true }, log)
    t.teardown(priority.stop)
    // A container may refuse it even to root.
    t.ok([ORDINARY, ROUND_ROBIN].includes(policy()))
    if (!isRoot) t.equal(policy(), ORDINARY, 'not allowed')
    t.equal(priority.state(), policy() === ORDINARY ? 'not-permitted' : 'realtime')
    if (policy() === ORDINARY) return

    const endMs = Date.now() + 300
    while (Date.now() < endMs);
    await until('a loop that is always busy is ordinary', () => policy() === ORDINARY)
    t.equal(priority.state(), 'busy')
    await until('it is realtime again once it is idle', () => policy() === ROUND_ROBIN)
  },
)

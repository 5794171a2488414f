import fc from 'fast-check'
import t from 'tap'
import { RepairPolicy, type RepairAction } from '../../../src/ingest/repair/repair-policy.js'
import { defaults, REPAIR_STEPS, type RepairStepName } from '../../../src/ingest/repair/options.js'

const open = (sourceCount: number, steps: readonly RepairStepName[] = []) => {
  let nowMs = 1_000
  let isSuspended = false
  const now = () => nowMs
  const policy = new RepairPolicy({
    sourceCount,
    steps,
    options: defaults,
    now,
    isAutoRepairSuspended: () => isSuspended,
  })
  const suspend = (is: boolean) => void (isSuspended = is)
  return { policy, suspend, wait: (ms: number) => void (nowMs += ms) }
}
const source = (index: number): RepairAction => ({ kind: 'source', index })
const pause: RepairAction = { kind: 'pause', ms: defaults.sourcesPauseMs }

t.test('a single source without steps is never replaced', async t => {
  for (const cause of ['gap', 'unreachable', 'refused', 'stalled', 'store', ''])
    t.strictSame(open(1).policy.onUnhealthy(cause), { kind: 'wait' }, cause)
})

t.test('each source is tried once, then all pause', async t => {
  const { policy } = open(3)
  t.strictSame(policy.onUnhealthy('unreachable'), source(1))
  t.strictSame(policy.onUnhealthy('gap'), source(2))
  t.strictSame(policy.onUnhealthy('refused'), pause)
  t.strictSame(policy.onPauseEnd(), source(0))
  t.strictSame(policy.onUnhealthy('refused'), source(1), 'a separate round')
  policy.onHealthy()
  t.equal(policy.sourceIndex, 1, 'the one that works stays')
  t.strictSame(policy.onUnhealthy('stalled'), source(2))
})

t.test('a store that rejects blocks causes no switch', async t => {
  const { policy } = open(2, REPAIR_STEPS)
  t.strictSame(policy.onUnhealthy('store'), { kind: 'wait' })
  t.equal(policy.sourceIndex, 0)
})

t.test('a gap causes the steps in order, each with limited attempts', async t => {
  const { policy, wait } = open(2, ['incremental', 'snapshot'])
  const step = (name: RepairStepName): RepairAction => ({ kind: 'step', step: name })
  t.strictSame(policy.onUnhealthy('gap'), source(1))
  t.strictSame(policy.onUnhealthy('unreachable'), step('incremental'), 'the gap is still there')
  t.strictSame(policy.onStepFailed(), step('incremental'))
  t.strictSame(policy.onStepFailed(), step('snapshot'))
  t.strictSame(policy.onStepFailed(), step('snapshot'))
  t.strictSame(policy.onStepFailed(), pause)
  t.strictSame(policy.onPauseEnd(), source(0))
  policy.onUnhealthy('gap')
  t.strictSame(policy.onUnhealthy('gap'), pause, 'too soon for another run')
  wait(defaults.stepsPauseMs)
  policy.onPauseEnd()
  policy.onUnhealthy('gap')
  t.strictSame(policy.onUnhealthy('gap'), step('incremental'), 'from the first again')
})

t.test(
  'steps whose server is not available are repeated after the pause of the sources',
  async t => {
    const { policy, wait } = open(1, ['incremental', 'snapshot'])
    const step = (name: RepairStepName): RepairAction => ({ kind: 'step', step: name })
    for (let times = 5; times > 0; times -= 1) {
      t.strictSame(policy.onUnhealthy('gap'), step('incremental'))
      t.strictSame(policy.onStepFailed(true), step('snapshot'), 'no second attempt at once')
      t.strictSame(policy.onStepFailed(true), pause)
      wait(defaults.sourcesPauseMs - 1)
      t.strictSame(policy.onUnhealthy('gap'), pause, 'the feed goes on, and has the gap again')
      wait(1)
      policy.onPauseEnd()
    }
    t.strictSame(policy.onUnhealthy('gap'), step('incremental'))
    t.strictSame(policy.onStepFailed(true), step('snapshot'))
    t.strictSame(policy.onStepFailed(), step('snapshot'), 'something was loaded')
    t.strictSame(policy.onStepFailed(), pause)
    policy.onPauseEnd()
    wait(defaults.stepsPauseMs - 1)
    t.strictSame(policy.onUnhealthy('gap'), pause, 'that run counts')
    wait(1)
    policy.onPauseEnd()
    t.strictSame(policy.onUnhealthy('gap'), step('incremental'))
  },
)

t.test('after a cancelled step none is taken until a block arrives', async t => {
  const { suspend, policy, wait } = open(1, ['incremental', 'snapshot'])
  t.match(policy.onUnhealthy('gap'), { kind: 'step', step: 'incremental' })
  suspend(true)
  t.strictSame(policy.onStepFailed(), pause)
  for (let times = 3; times > 0; times -= 1) {
    wait(defaults.stepsPauseMs)
    policy.onPauseEnd()
    t.strictSame(policy.onUnhealthy('gap'), pause)
  }
  suspend(false)
  policy.onHealthy()
  t.match(policy.onUnhealthy('gap'), { kind: 'step', step: 'incremental' })
})

t.test('an unreachable source causes no bootstrap', async t => {
  const { policy } = open(1, REPAIR_STEPS)
  t.strictSame(policy.onUnhealthy('unreachable'), pause)
  policy.onUnhealthy('gap')
  policy.onHealthy()
  t.strictSame(policy.onUnhealthy('stalled'), pause, 'the gap was closed')
})

t.test('a step that succeeded without suspending is not repeated within the pause', async t => {
  const { policy, wait } = open(1, ['snapshot'])
  t.strictSame(policy.onUnhealthy('gap'), { kind: 'step', step: 'snapshot' })
  policy.onHealthy()
  wait(defaults.stepsPauseMs - 1)
  t.strictSame(policy.onUnhealthy('gap'), pause)
  wait(1)
  t.strictSame(policy.onUnhealthy('gap'), { kind: 'step', step: 'snapshot' })
})

t.test('any history is bounded: sources stay in range, steps within their attempts', async () => {
  const event = fc.constantFrom(
    ...([
      'healthy',
      'pauseEnd',
      'gap',
      'unreachable',
      'store',
      'stepFailed',
      'unavailable',
    ] as const),
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.subarray([...REPAIR_STEPS]),
      fc.array(event, { maxLength: 60 }),
      (sourceCount, steps, events) => {
        const { policy } = open(sourceCount, steps)
        let runs = 0
        let isRunning = false
        for (const name of events) {
          if (name === 'healthy') {
            policy.onHealthy()
            continue
          }
          const isFailure = name === 'stepFailed' || name === 'unavailable'
          // A step has one end, and until then the feed is not read.
          if (isFailure !== isRunning) continue
          if (name === 'unavailable') runs -= 1
          const action: RepairAction = isFailure
            ? policy.onStepFailed(name === 'unavailable')
            : name === 'pauseEnd'
              ? policy.onPauseEnd()
              : policy.onUnhealthy(name)
          isRunning = action.kind === 'step'
          if (action.kind === 'step') {
            if (!steps.includes(action.step)) return false
            runs += 1
          }
          if (action.kind === 'source' && action.index >= sourceCount) return false
        }
        // The clock does not advance, so the steps that load something run once.
        return runs <= steps.length * defaults.stepAttemptsMax
      },
    ),
  )
})

import fc from 'fast-check'
import t from 'tap'
import { Ladder, type Rung } from '../../../src/ingest/repair/repair-policy.js'
import { defaults, REPAIR_STEPS, type RepairStepName } from '../../../src/ingest/repair/options.js'

const open = (sourceCount: number, steps: readonly RepairStepName[] = []) => {
  let nowMs = 1_000
  let isHeld = false
  const now = () => nowMs
  const ladder = new Ladder({ sourceCount, steps, options: defaults, now, isHeld: () => isHeld })
  const hold = (is: boolean) => void (isHeld = is)
  return { ladder, hold, wait: (ms: number) => void (nowMs += ms) }
}
const source = (index: number): Rung => ({ kind: 'source', index })
const pause: Rung = { kind: 'pause', ms: defaults.sourcesPauseMs }

t.test('one source without steps is left to its reader, whatever the cause', async t => {
  for (const cause of ['gap', 'unreachable', 'refused', 'stalled', 'store', ''])
    t.strictSame(open(1).ladder.onUnhealthy(cause), { kind: 'wait' }, cause)
})

t.test('each source has its turn once, then all of them wait', async t => {
  const { ladder } = open(3)
  t.strictSame(ladder.onUnhealthy('unreachable'), source(1))
  t.strictSame(ladder.onUnhealthy('gap'), source(2))
  t.strictSame(ladder.onUnhealthy('refused'), pause)
  t.strictSame(ladder.onPauseEnd(), source(0))
  t.strictSame(ladder.onUnhealthy('refused'), source(1), 'a round of its own')
  ladder.onHealthy()
  t.equal(ladder.sourceIndex, 1, 'the one that works stays')
  t.strictSame(ladder.onUnhealthy('stalled'), source(2))
})

t.test('a store that takes no blocks moves nothing', async t => {
  const { ladder } = open(2, REPAIR_STEPS)
  t.strictSame(ladder.onUnhealthy('store'), { kind: 'wait' })
  t.equal(ladder.sourceIndex, 0)
})

t.test('a gap climbs the steps, each a bounded number of times', async t => {
  const { ladder, wait } = open(2, ['incremental', 'snapshot'])
  const step = (name: RepairStepName): Rung => ({ kind: 'step', step: name })
  t.strictSame(ladder.onUnhealthy('gap'), source(1))
  t.strictSame(ladder.onUnhealthy('unreachable'), step('incremental'), 'the gap is still there')
  t.strictSame(ladder.onStepFailed(), step('incremental'))
  t.strictSame(ladder.onStepFailed(), step('snapshot'))
  t.strictSame(ladder.onStepFailed(), step('snapshot'))
  t.strictSame(ladder.onStepFailed(), pause)
  t.strictSame(ladder.onPauseEnd(), source(0))
  ladder.onUnhealthy('gap')
  t.strictSame(ladder.onUnhealthy('gap'), pause, 'too soon for another run')
  wait(defaults.stepsPauseMs)
  ladder.onPauseEnd()
  ladder.onUnhealthy('gap')
  t.strictSame(ladder.onUnhealthy('gap'), step('incremental'), 'from the first again')
})

t.test('after a step was cancelled none is taken, until a block came', async t => {
  const { hold, ladder, wait } = open(1, ['incremental', 'snapshot'])
  t.match(ladder.onUnhealthy('gap'), { kind: 'step', step: 'incremental' })
  hold(true)
  t.strictSame(ladder.onStepFailed(), pause)
  for (let times = 3; times > 0; times -= 1) {
    wait(defaults.stepsPauseMs)
    ladder.onPauseEnd()
    t.strictSame(ladder.onUnhealthy('gap'), pause)
  }
  hold(false)
  ladder.onHealthy()
  t.match(ladder.onUnhealthy('gap'), { kind: 'step', step: 'incremental' })
})

t.test('what cannot be reached is no reason for a bootstrap', async t => {
  const { ladder } = open(1, REPAIR_STEPS)
  t.strictSame(ladder.onUnhealthy('unreachable'), pause)
  ladder.onUnhealthy('gap')
  ladder.onHealthy()
  t.strictSame(ladder.onUnhealthy('stalled'), pause, 'the gap was closed')
})

t.test('a success that does not hold is not repeated within the pause', async t => {
  const { ladder, wait } = open(1, ['snapshot'])
  t.strictSame(ladder.onUnhealthy('gap'), { kind: 'step', step: 'snapshot' })
  ladder.onHealthy()
  wait(defaults.stepsPauseMs - 1)
  t.strictSame(ladder.onUnhealthy('gap'), pause)
  wait(1)
  t.strictSame(ladder.onUnhealthy('gap'), { kind: 'step', step: 'snapshot' })
})

t.test('any history is bounded: no source out of range, no step beyond its tries', async () => {
  const event = fc.constantFrom('healthy', 'pauseEnd', 'gap', 'unreachable', 'store', 'stepFailed')
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.subarray([...REPAIR_STEPS]),
      fc.array(event, { maxLength: 60 }),
      (sourceCount, steps, events) => {
        const { ladder } = open(sourceCount, steps)
        let runs = 0
        for (const name of events) {
          if (name === 'healthy') {
            ladder.onHealthy()
            continue
          }
          const rung =
            name === 'pauseEnd'
              ? ladder.onPauseEnd()
              : name === 'stepFailed'
                ? ladder.onStepFailed()
                : ladder.onUnhealthy(name)
          if (rung.kind === 'step') {
            if (!steps.includes(rung.step)) return false
            runs += 1
          }
          if (rung.kind === 'source' && rung.index >= sourceCount) return false
        }
        // The clock stands still, so there is one run through the steps.
        return runs <= steps.length * defaults.stepAttemptsMax
      },
    ),
  )
})

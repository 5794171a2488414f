import t from 'tap'
import { createMetrics, formatMetrics } from '../../../src/shared/metrics.js'
import { LaneWatch } from '../../../src/submission/race/lane-watch.js'
import type { LaneReport } from '../../../src/submission/store/submission.js'

const report = (outcome: LaneReport['outcome'], status?: number): LaneReport => ({
  ...{ lane: 'fra', outcome, writtenAfterMs: null, answeredAfterMs: null },
  ...(status !== undefined && { status }),
})

t.test('a lane is up, down or throttled, since the change', async t => {
  const clock = { ms: 1_000 }
  const way = { isUp: false, inFlight: 0 }
  const metrics = createMetrics('sender')
  const watch = new LaneWatch({
    ...{ network: 'main', id: 'fra', metrics, unixMs: () => clock.ms },
    requestsPerSecondMax: 50,
    lane: { isReachable: () => way.isUp, inFlight: () => way.inFlight },
  })
  const steps: [step: () => void, state: string, sinceMs: number][] = [
    [() => {}, 'down', 1_000],
    [() => (way.isUp = true), 'up', 3_000],
    [() => watch.onEnd(report('accepted', 200)), 'up', 3_000],
    [() => watch.onEnd(report('full')), 'up', 3_000],
    [() => watch.onEnd(report('full', 429)), 'throttled', 6_000],
    [() => watch.onEnd(report('full')), 'throttled', 6_000],
    [() => watch.onEnd(report('unknown')), 'throttled', 6_000],
    [() => (way.isUp = false), 'down', 9_000],
    [() => (way.isUp = true), 'throttled', 10_000],
    [() => watch.onEnd(report('refused', 400)), 'up', 11_000],
  ]
  for (const [step, state, sinceMs] of steps) {
    clock.ms += 1_000
    step()
    t.match(watch.status(), { network: 'main', lane: 'fra', state, sinceMs })
  }
  way.inFlight = 3
  t.strictSame(watch.status(), {
    ...{ network: 'main', lane: 'fra', state: 'up', sinceMs: 11_000 },
    // Six of the last ten whole seconds; the seventh is of this one.
    ...{ perSecond: 0.5, perSecondMax: 50, inFlight: 3 },
    last: { outcome: 'refused', atMs: 11_000 },
  })
  clock.ms += 1_500
  watch.onEnd({ lane: 'fra', outcome: 'left-out', writtenAfterMs: null, answeredAfterMs: null })
  t.match(watch.status().last, { outcome: 'refused' }, 'one that was left out is none')
  const page = formatMetrics([await metrics.snapshot()])
  t.match(page, /slotline_lane_state\{.*state="up"\} 1\n/)
  t.match(page, /slotline_lane_state\{.*state="down"\} 0\n/)
  t.match(page, /slotline_lane_state_seconds\{.*\} 1\.5\n/)
})

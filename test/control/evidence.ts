import t from 'tap'
import { createReadWarnings } from '../../src/dashboard/api/warnings.js'
import { defaultRule } from '../../src/dashboard/warnings/kinds.js'
import { defaults } from '../../src/dashboard/warnings/options.js'
import { createEvidence } from '../../src/control/evidence.js'
import { createAsk } from '../../src/control/usage.js'
import { MINUTE_MS } from '../../src/usage/scope.js'
import { UsageWriter } from '../../src/usage/store.js'
import { NEW_ACCESS, NOW_MS, openControl } from '../fixtures/access/access.js'
import { askIn, openUsage } from '../fixtures/usage/usage.js'

const ALL = ['errors-rising', 'p99-high'] as const

/** An access with counts of edges, and what its rules find in them. */
const open = async (dir: string) => {
  const control = await openControl(dir)
  const { accessId } = await control.accessManager.grant(NEW_ACCESS)
  const evidence = createEvidence(createAsk(askIn(dir)), () => NOW_MS)
  const read = createReadWarnings({
    usage: { evidence },
    incidents: () => [],
    locationStates: () => [],
    options: defaults,
    now: () => NOW_MS,
  })
  return { ...control, accessId, evidence, read }
}

t.test('rules find what edges have counted, recorded or not', async t => {
  const dir = t.testdir()
  const { accessId, accessManager, read, close } = await open(dir)
  t.teardown(close)
  const usage = openUsage(dir)
  const [fra, nyc] = ['fra', 'nyc'].map(location =>
    usage.meterOf({ accessId, network: 'main', location }),
  )
  if (fra === undefined || nyc === undefined) return
  const failure = { code: -32_602 }
  for (let index = 0; index < 100; index++) {
    // The last five minutes, in their order.
    const atMs = NOW_MS - (4 - Math.floor(index / 20)) * MINUTE_MS
    fra.addRequests(1, atMs)
    fra.addCall('getSlot', index < 40 ? { failure, elapsedMs: 300 } : { elapsedMs: 2 }, atMs)
    nyc.addRequests(1, atMs)
    nyc.addCall('getBlock', { elapsedMs: 20 }, atMs)
  }
  const rules = ALL.map(kind => ({
    ...defaultRule(kind),
    isOn: true,
    countMin: 40,
    threshold: kind === 'p99-high' ? 200 : 40,
  }))
  const slow = { ...defaultRule('p99-high'), ruleId: 'rule_1', isOn: true }
  await accessManager.setAlertRules(accessId, [
    ...rules,
    { ...slow, method: 'getBlock', threshold: 10 },
    { ...slow, ruleId: 'rule_2', method: 'getBlock', threshold: 50 },
  ])
  const access = accessManager.find(accessId)
  if (access === undefined) return
  const writer = new UsageWriter(dir)
  for (const when of ['at once', 'recorded']) {
    t.match(
      (await read(access)).warnings,
      [
        {
          rule: 'errors-rising',
          location: 'fra',
          values: { errors: 40, requests: 100, percent: 40 },
        },
        { rule: 'p99-high', values: { requests: 200, windowMs: 300_000 } },
        { rule: 'rule_1', values: { requests: 100, method: 'getBlock' } },
      ],
      when,
    )
    await writer.record()
  }
})

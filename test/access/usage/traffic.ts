import t from 'tap'
import { MINUTE_MS, type Place } from '../../../src/access/usage/layout.js'
import { NO_METHOD } from '../../../src/access/usage/meter.js'
import { defaults } from '../../../src/access/usage/options.js'
import { readUsage } from '../../../src/access/usage/reader.js'
import { addTraffic, readTraffic } from '../../../src/access/usage/traffic.js'
import { openUsage } from '../../../src/access/usage/usage.js'
import { NOW_MS } from '../../fixtures/access/access.js'

const PLACE: Place = { accessId: 'acc_abcdefghijkl', network: 'main', location: 'fra' }
const NONE = { requests: 0, errors: 0, rateLimited: 0, refused: 0 }
const HOUR_MS = 60 * MINUTE_MS

const meterOf = (dir: string, edge: number) =>
  openUsage(dir, edge, {
    options: defaults,
    onFault: fault => {
      throw fault
    },
  }).meterOf(PLACE)

t.test('traffic is the sum of the minutes of all edges', t => {
  const dir = t.testdir()
  t.strictSame(readTraffic(dir, PLACE, NOW_MS), {
    hour: NONE,
    day: NONE,
    hours: Array.from({ length: 24 }, () => 0),
  })
  const [one, other] = [meterOf(dir, 0), meterOf(dir, 1)]
  one.addRequests(1, NOW_MS - 25 * HOUR_MS)
  one.addRequests(2, NOW_MS - 23 * HOUR_MS)
  other.addRequests(4, NOW_MS - HOUR_MS)
  one.addRequests(8, NOW_MS - HOUR_MS + MINUTE_MS)
  one.addRateLimited(NO_METHOD, NOW_MS)
  one.addCall('getSlot', { failure: { code: -32_602 } }, NOW_MS)
  one.addRefused('address', '192.0.2.7', NOW_MS)
  other.addRequests(16, NOW_MS)
  const { hour, day, hours } = readTraffic(dir, PLACE, NOW_MS)
  const { minutes } = readUsage(dir, PLACE, NOW_MS)
  for (const name of ['requests', 'errors', 'rateLimited', 'refused'] as const) {
    const sum = (kept: typeof minutes): number => kept.reduce((all, one) => all + one[name], 0)
    t.equal(day[name], sum(minutes), `${name} of the day`)
    t.equal(hour[name], sum(minutes.slice(-60)), `${name} of the hour`)
  }
  t.equal(
    hours.reduce((all, one) => all + one, 0),
    day.requests,
  )
  t.match(hours.slice(-2), [4, hour.requests])
  t.ok(day.requests >= 30 && hour.requests >= 24)
  t.equal(hours[0], 2)
  t.end()
})

t.test('traffic of machines is added up', t => {
  const dir = t.testdir()
  meterOf(dir, 0).addRequests(3, NOW_MS)
  const one = readTraffic(dir, PLACE, NOW_MS)
  const sum = addTraffic(one, addTraffic(one, one))
  t.equal(sum.hour.requests, 9)
  t.equal(sum.day.requests, 9)
  t.equal(sum.hours.at(-1), 9)
  t.equal(sum.hours.length, 24)
  t.end()
})

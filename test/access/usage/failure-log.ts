import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { FAILURES_MAX } from '../../../src/access/usage/failure-log.js'
import { failuresPath, type Place } from '../../../src/access/usage/layout.js'
import { defaults } from '../../../src/access/usage/options.js'
import { readFailures } from '../../../src/access/usage/reader.js'
import { openUsage } from '../../../src/access/usage/usage.js'
import { NOW_MS } from '../../fixtures/access/access.js'

const placeOf = (accessId: string): Place => ({ accessId, network: 'main', location: 'fra' })
const onFault = (fault: unknown): never => {
  throw fault
}
const open = (dir: string, edge = 0, failureLogsMax = 8) =>
  openUsage(dir, edge, { options: { ...defaults, failureLogsMax }, onFault })

t.test('failed calls are listed newest first, over all edges, also after a kill', t => {
  const dir = t.testdir()
  const fail = (edge: number, text: string, nowMs: number): void => {
    const failure = { code: -32_602, text, origin: 'upstream', addressOf: () => '8.8.8.8' } as const
    open(dir, edge).meterOf(placeOf('acc_1')).addCall('getSlot', { failure }, nowMs)
  }
  fail(0, 'first', NOW_MS)
  fail(1, `${'é'.repeat(255)}a€`, NOW_MS + 1)
  // Nothing was closed: this is the state after a kill.
  fail(0, 'last', NOW_MS + 2)
  const { failures, leftOut } = readFailures(dir, 'acc_1', 10)
  const place = { network: 'main', location: 'fra' }
  const call = {
    ...place,
    method: 'getSlot',
    code: -32_602,
    origin: 'upstream',
    address: '8.8.8.8',
  }
  t.strictSame(failures, [
    { atMs: NOW_MS + 2, ...call, text: 'last' },
    { atMs: NOW_MS + 1, ...call, text: `${'é'.repeat(255)}a` },
    { atMs: NOW_MS, ...call, text: 'first' },
  ])
  t.equal(leftOut, 0)
  t.strictSame(readFailures(dir, 'acc_1', 1).failures.length, 1)
  t.strictSame(readFailures(dir, 'acc_2', 1), { failures: [], leftOut: 0 })
  t.end()
})

t.test('a flood is counted, and writes no more than its rate', t => {
  const dir = t.testdir()
  const meter = open(dir).meterOf(placeOf('acc_1'))
  let written = 0
  const failure = { code: -32_600, text: 'x', addressOf: () => ((written += 1), '') }
  for (let count = 0; count < 10_000; count++) meter.addCall('getSlot', { failure }, NOW_MS)
  t.equal(written, FAILURES_MAX)
  t.equal(readFailures(dir, 'acc_1', 2_000).leftOut, 9_000)
  for (let count = 0; count < 100; count++) meter.addCall('getSlot', { failure }, NOW_MS + 1_000)
  t.equal(written, FAILURES_MAX + defaults.failuresPerSecondMax)
  t.equal(readFailures(dir, 'acc_1', 2_000).failures.length, FAILURES_MAX)
  t.end()
})

t.test('files have a bound, and that of the access that failed first is removed', t => {
  const dir = t.testdir()
  const usage = open(dir, 0, 3)
  const failure = { code: -32_600, text: 'x' }
  for (let nth = 0; nth < 10; nth++)
    usage.meterOf(placeOf(`acc_${nth}`)).addCall('getSlot', { failure }, NOW_MS)
  const files = readdirSync(failuresPath(dir, 0))
  t.strictSame(files.toSorted(), ['acc_7', 'acc_8', 'acc_9'])
  t.ok(statSync(join(failuresPath(dir, 0), 'acc_9')).size < 690_000)
  t.end()
})

t.test('no token is kept that a client sent as a method or an upstream repeats', t => {
  const dir = t.testdir()
  const token = `slt_${'a1B2'.repeat(12)}`
  const failure = { code: -32_601, text: `${'x'.repeat(480)} no method ${token}` }
  open(dir).meterOf(placeOf('acc_1')).addCall(token, { failure }, NOW_MS)
  const { failures } = readFailures(dir, 'acc_1', 9)
  t.equal(failures.length, 1)
  t.notMatch(JSON.stringify(failures), 'a1B2')
  t.end()
})

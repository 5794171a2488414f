import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import * as addon from '#native'
import { LIMITS, NOW_MS } from '../../fixtures/access/access.js'
import {
  count,
  list,
  record,
  text,
  whole,
  wrongCalls,
  type Spec,
} from '../../fixtures/native/wrong.js'

const U32_MAX = 2 ** 32 - 1
const I32_MAX = 2 ** 31 - 1
/** Called only where it is needed; what is no function is a clock that cannot be read. */
const now: Spec = { right: () => NOW_MS, wrong: [] }
const key: Spec = { right: 1n, wrong: [undefined, null, 1, '1', 2n ** 63n, -(2n ** 64n)] }
/** A number that is checked where it is used. */
const number: Spec = { right: NOW_MS, wrong: [undefined, null, '1', {}, 1n] }
const requests = whole(1, 2 ** 53 - 1)
const limits = record({
  requestsPerSecondMax: count(1),
  requestsBurstMax: count(1),
  requestsInFlightMax: count(1),
  socketsMax: count(1),
})

const openTable = (dir: string): addon.LimitTable => new addon.LimitTable(join(dir, 'limits'), 2, 4)

t.test('wrong arguments of limits are refused', async t => {
  const table = openTable(t.testdir())
  const access = new addon.LimitedAccess(table, 1n, 0, LIMITS)
  const path = text(join(t.testdirName, 'other'), '', '/', '/dev/null/cells', '\0')
  const tableSpec: Spec = { right: table, wrong: [undefined, null, {}, access] }
  const use = record({ key, requestsInFlight: whole(1, I32_MAX), sockets: whole(1, I32_MAX) })
  const time: Spec = { right: 1, wrong: [...number.wrong, NaN, Infinity, 1e300] }
  const rows: readonly (readonly [target: object, name: string, specs: readonly Spec[]])[] = [
    [table, 'utilisation', [key]],
    [table, 'takeCharged', [key]],
    [table, 'setOthers', [list(use)]],
    [table, 'costMs', [key, requests]],
    [table, 'charge', [key, time, time]],
    [table, 'clearEdge', [whole(0, 1)]],
    [access, 'acquireBatch', [requests, whole(1, I32_MAX), now]],
    [access, 'acquireMore', [requests, now]],
    [access, 'chargeReply', [count(1), count(2), now]],
    [access, 'acquireSocket', [number]],
    [access, 'setSubscriptions', [whole(1, I32_MAX), whole(1, I32_MAX)]],
    [addon, 'acquireRequest', [whole(access.id, U32_MAX, U32_MAX), number, now]],
    [addon, 'releaseRequests', [whole(access.id, U32_MAX, U32_MAX), whole(1, I32_MAX)]],
  ]
  const constructors: typeof rows = [
    [addon, 'LimitTable', [path, whole(1, U32_MAX), whole(4, U32_MAX, 0)]],
    [addon, 'LimitedAccess', [tableSpec, key, whole(0, 1), limits]],
  ]
  const answered = (name: string, specs: readonly Spec[], call: (args: unknown[]) => unknown) =>
    wrongCalls(specs).flatMap(args => {
      try {
        return [`${name}(${inspect(args, { depth: 3 })}) = ${inspect(call(args))}`]
      } catch (error) {
        return error instanceof Error ? [] : [`${name} threw ${inspect(error)}`]
      }
    })
  const functionOf = (target: object, name: string) =>
    Reflect.get(target, name) as (...args: never[]) => unknown
  for (const [target, name, specs] of rows) {
    const call = (args: unknown[]): unknown => Reflect.apply(functionOf(target, name), target, args)
    t.strictSame(answered(name, specs, call), [])
    call(specs.map(({ right }) => right))
  }
  for (const [target, name, specs] of constructors) {
    const call = (args: unknown[]): unknown => Reflect.construct(functionOf(target, name), args)
    t.strictSame(answered(name, specs, call), [])
    call(specs.map(({ right }) => right))
  }
})

t.test('a clock that cannot be read admits nothing, and takes nothing', async t => {
  const table = openTable(t.testdir())
  const access = new addon.LimitedAccess(table, 1n, 0, LIMITS)
  const broken = (): number => {
    throw new Error('no clock')
  }
  for (const nowMs of [NaN, Infinity, -1e300]) {
    t.equal(addon.acquireRequest(access.id, nowMs, broken), 'full')
    t.equal(access.acquireSocket(nowMs), 'full')
  }
  for (const each of [() => NOW_MS, broken]) {
    t.equal(addon.acquireRequest(access.id, NOW_MS, each), undefined)
    addon.releaseRequests(access.id, 1)
  }
  t.equal(access.acquireBatch(2, 1, broken), 'full')
  t.match(table.utilisation(1n), { requestsInFlight: 0, sockets: 0 })
  t.equal(table.takeCharged(1n), 2)
})

t.test('a refusal is decided by the clock as it is read after the call', async t => {
  const table = openTable(t.testdir())
  const limits = { ...LIMITS, requestsPerSecondMax: 10, requestsBurstMax: 1 }
  const [one, other] = [0, 1].map(edge => new addon.LimitedAccess(table, 1n, edge, limits))
  if (one === undefined || other === undefined) return
  t.equal(
    addon.acquireRequest(other.id, NOW_MS, () => NOW_MS),
    undefined,
  )
  t.match(
    addon.acquireRequest(one.id, NOW_MS, () => NOW_MS + 99),
    { retryAfterMs: 1 },
  )
  // This process was stopped for an hour after it read the clock, and the other was not.
  const late = NOW_MS + 3_600_000
  t.equal(
    addon.acquireRequest(other.id, late, () => late),
    undefined,
  )
  t.equal(
    addon.acquireRequest(one.id, NOW_MS, () => late + 100),
    undefined,
  )
  t.match(
    addon.acquireRequest(other.id, late, () => late + 100),
    { retryAfterMs: 100 },
  )
})

import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import * as addon from '#native'
import { LIMITS } from '../../fixtures/access/access.js'
import { POOLS, STORE } from '../../fixtures/rpc/store.js'
import { list, record, text, whole, wrongCalls, type Spec } from '../../fixtures/native/wrong.js'

const U32_MAX = 2 ** 32 - 1
/** Mapped ones only: JavaScript could free any other. */
const mapped = addon.sharedCells(join(t.testdir(), 'cells'), 9)
const cells: Spec = {
  right: mapped,
  wrong: [undefined, null, 5, 'x', {}, [], new Float64Array(9), new Uint8Array(80)],
}
const number: Spec = { right: 1, wrong: [undefined, null, '1', {}, 1n] }
const admission = record({
  version: number,
  validFromMs: number,
  validUntilMs: number,
  usage: cells,
  minuteAt: whole(0, U32_MAX),
  stateAt: whole(0, U32_MAX),
  methodsAt: list(whole(0, U32_MAX)),
  minuteEndsMs: number,
})

/** Calls that were not refused. */
const notRefused = (call: (args: unknown[]) => unknown, calls: unknown[][]): string[] =>
  calls.flatMap(args => {
    try {
      call(args)
      return [inspect(args, { depth: 3, breakLength: Infinity })]
    } catch (error) {
      return error instanceof Error ? [] : [`threw ${inspect(error)}`]
    }
  })

t.test('wrong arguments of direct reads are refused', async t => {
  const indexer = new addon.Indexer(t.testdir(), STORE)
  const reader = indexer.openReader(POOLS)
  t.teardown(() => {
    reader.close()
    indexer.close()
  })
  const lane = reader.fastLane(8)
  const specs = [cells, list(number), whole(8, U32_MAX)]
  const construct = (args: unknown[]): unknown => Reflect.construct(addon.DirectReads, args)
  t.strictSame(notRefused(construct, wrongCalls(specs)), [])

  const direct = new addon.DirectReads(mapped, [1], 8, 64)
  const register = (args: unknown[]): unknown => Reflect.apply(direct.register, direct, args)
  const laneSpec: Spec = { right: lane, wrong: [undefined, null, {}, reader] }
  const table = new addon.LimitTable(join(t.testdirName, 'limits'), 2, 4)
  const access = new addon.LimitedAccess(table, 1n, 0, LIMITS)
  const accessSpec: Spec = { right: access, wrong: [undefined, null, {}, reader, table] }
  const registerSpecs = [text('token'), admission, accessSpec, laneSpec]
  t.strictSame(notRefused(register, wrongCalls(registerSpecs)), [])
  register(['token', admission.right, access, lane])

  const mount = (args: unknown[]): unknown => Reflect.apply(direct.mount, direct, args)
  t.strictSame(notRefused(mount, wrongCalls([number, text('x'), whole(1_000, U32_MAX)])), [])
  for (const app of [-1, 0.5, 1e9, NaN]) t.equal(direct.mount(app, 'x', 1_000), false, String(app))
  t.strictSame(new Set(direct.takeCounts()), new Set([0]), 'nothing was answered')
  direct.close()
})

import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import * as addon from '#native'
import { list, record, text, whole, wrongCalls, type Spec } from '../../fixtures/native/wrong.js'

const U32_MAX = 2 ** 32 - 1

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

const membersOf = (target: object): string[] =>
  Object.getOwnPropertyNames(target)
    .filter(name => name !== 'constructor')
    .toSorted()

const schema = record({
  tables: list(record({ name: text('a'), columns: list(text('n INTEGER')), key: text('n') })),
  more: list(text('SELECT 1')),
  rows: list(text('SELECT 1')),
  events: list(text('SELECT 1')),
})

t.test('the parts of usage have these members', t => {
  t.strictSame(membersOf(addon.UsageCells.prototype), [
    'addEvent',
    'begin',
    'cells',
    'close',
    'stateAt',
    'waitingEvents',
  ])
  t.strictSame(membersOf(addon.UsageRecorder.prototype), ['record', 'run'])
  t.strictSame(membersOf(addon.UsageReader.prototype), ['query'])
  t.end()
})

t.test('wrong arguments of cells are refused, and cells that are none do no harm', t => {
  const dir = t.testdir({ a: {} })
  const construct = (args: unknown[]): unknown => Reflect.construct(addon.UsageCells, args)
  const path: Spec = { right: join(dir, 'a'), wrong: [5, {}, [], '/dev/null/a', '\0'] }
  t.strictSame(notRefused(construct, wrongCalls([path, whole(16, 2 ** 18)])), [])
  const cells = new addon.UsageCells(join(dir, 'a'), 16)
  const begin = (args: unknown[]): unknown => Reflect.apply(cells.begin, cells, args)
  const minute: Spec = { right: 1, wrong: [undefined, null, '1', {}, 1n] }
  t.strictSame(notRefused(begin, wrongCalls([whole(0, 255), minute, text('a\0b\0c\0d')])), [])
  const add = (args: unknown[]): unknown => Reflect.apply(cells.addEvent, cells, args)
  t.strictSame(notRefused(add, wrongCalls([whole(0, 255), text('{}')])), [])
  for (const call of [cells.close, cells.stateAt]) {
    const run = (args: unknown[]): unknown => Reflect.apply(call, cells, args)
    t.strictSame(notRefused(run, wrongCalls([whole(5, U32_MAX)])), [])
    for (const at of [0, 1, U32_MAX, cells.cells().length]) run([at])
  }
  t.equal(cells.begin(0, 1, 'x'.repeat(209)), 0, 'a key that does not fit')
  t.equal(cells.addEvent(0, 'x'.repeat(8 * 1024 * 1024)), false)
  for (let nth = 0; nth < 100; nth++) cells.begin(0, 1, `a\0b\0c\0${nth}`)
  t.equal(cells.begin(0, 1, 'a\0b\0c\0d'), 0, 'no slot is left')
  t.end()
})

t.test('wrong arguments of the store are refused', async t => {
  const dir = t.testdir({ edges: {} })
  const paths = [text(join(dir, 'store')), text(join(dir, 'edges')), schema]
  for (const made of [addon.UsageRecorder, addon.UsageReader]) {
    const construct = (args: unknown[]): unknown => Reflect.construct(made, args)
    t.strictSame(notRefused(construct, wrongCalls(paths)), [])
  }
  const none = { tables: [], more: [], rows: [], sums: [], events: [] }
  const recorder = new addon.UsageRecorder(join(dir, 'store'), join(dir, 'edges'), none)
  const run = (args: unknown[]): unknown => Reflect.apply(recorder.run, recorder, args)
  t.strictSame(notRefused(run, wrongCalls([list(text('SELECT 1')), text('[]')])), [])
  t.match(await recorder.run(['SELEC'], '[]'), { failure: { code: 'internal' } })
  t.match(await recorder.run([], '{'), { failure: { code: 'internal' } })
  const reader = new addon.UsageReader(join(dir, 'store'), join(dir, 'edges'), none)
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n'
  t.match(await reader.query(`SELECT count(*) FROM (${endless})`, '[]', [], [50, 1], true), {
    failure: { code: 'readTimeout' },
  })
  t.match(await reader.query(endless, '[]', [], [10_000, 3], true), {
    json: '[{"i":1},{"i":2},{"i":3}]',
  })
  t.match(
    await reader.query('SELECT ?1 AS a, ?2 AS b', '["x", 7, null, {}]', ['acc'], [50, 9], false),
    {
      json: '[{"a":"x","b":7}]',
    },
  )
})

import t, { type Test } from 'tap'
import * as v from 'valibot'
import {
  explainRenamed,
  withRenamed,
  type RenamedOptions,
} from '../../../src/config/validators/renamed.js'
import { configSchema } from '../../../src/config/schema.js'

const table = withRenamed(v.strictObject({ after: v.number(), below: v.strictObject({}) }), {
  before: { to: 'after' },
  gone: { removed: 'the platform does it' },
})

t.test('the error of a former option names its replacement', t => {
  t.equal(explainRenamed(table, 'networks[0]', 'before'), 'is now networks[0].after')
  t.equal(explainRenamed(table, '', 'before'), 'is now after')
  t.equal(explainRenamed(table, 'x', 'gone'), 'was removed: the platform does it')
  t.equal(explainRenamed(table, 'x', 'toString'), undefined)
  t.equal(explainRenamed(v.strictObject({}), 'x', 'before'), undefined)
  t.end()
})

type Node = {
  readonly entries?: Readonly<Record<string, Node>>
  readonly wrapped?: Node
  readonly item?: Node
}

const unwrap = (node: Node): Node => {
  const inner = node.wrapped ?? node.item
  return inner === undefined ? node : unwrap(inner)
}

/** Checks a table of the schema and the tables below it; returns the number of former options. */
const check = (t: Test, node: Node, path: string): number => {
  const { entries } = node
  if (entries === undefined) return 0
  const { renamed = {} } = v.getMetadata(node as v.GenericSchema) as { renamed?: RenamedOptions }
  for (const [former, entry] of Object.entries(renamed)) {
    t.notOk(Object.hasOwn(entries, former), `${path}.${former} is no option any more`)
    if (!('to' in entry)) continue
    let at: Node | undefined = node
    for (const key of entry.to.split('.')) at = at && unwrap(at).entries?.[key]
    t.ok(at, `${path}.${entry.to} exists`)
  }
  return Object.entries(entries).reduce(
    (count, [key, entry]) => count + check(t, unwrap(entry), `${path}.${key}`),
    Object.keys(renamed).length,
  )
}

t.test('every replacement of a former option exists', t => {
  t.ok(check(t, configSchema as unknown as Node, '') > 0)
  t.end()
})

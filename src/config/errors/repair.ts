import * as v from 'valibot'
import { isTable, schemaAt, type Table } from '../options.js'
import { configSchema } from '../schema.js'
import { keysOf, type Issue } from './explain.js'

/** Values one of which is valid for every required option, and which occur in no real file. */
const valuesFor = (number: number): readonly unknown[] => [
  `unknown-${number}`,
  'http://unknown.invalid',
  '11111111111111111111111111111111',
  { endpoint: 'http://unknown.invalid' },
  { urls: ['http://unknown.invalid'] },
  ['http://unknown.invalid'],
  ['11111111111111111111111111111111'],
  [{ host: 'unknown.invalid', port: 1 + number }],
  1 + number,
]

const tableAt = (root: unknown, keys: readonly string[]): Table | undefined => {
  let at = root
  for (const key of keys) {
    if (!isTable(at)) return undefined
    at = at[key]
  }
  return isTable(at) ? at : undefined
}

/**
 * A copy of a configuration in which each wrong option has its default or, where it is required, a
 * value that the schema accepts: so that the other options can be checked together.
 */
export const repair = (given: unknown, issues: readonly Issue[]): unknown => {
  const repaired = structuredClone(given)
  for (const [number, issue] of issues.entries()) {
    const keys = keysOf(issue)
    const table = tableAt(repaired, keys.slice(0, -1))
    const name = keys.at(-1)
    if (table === undefined || name === undefined) continue
    const schema = schemaAt(configSchema, keys)
    if (Array.isArray(table)) table[Number(name)] = undefined
    else delete table[name]
    if (schema === undefined || v.is(schema, undefined)) continue
    table[name] = valuesFor(number).find(value => v.is(schema, value))
  }
  return repaired
}

import t from 'tap'
import * as v from 'valibot'
import { configSchema } from '../../../src/config/schema.js'
import { SECRETS } from '../../../src/config/secrets/secrets.js'

/** Names of options that would hold a secret; a file's name and a header's name are none. */
const LOOKS_SECRET = /secret|token|password|credential|apikey/i
const IS_NONE = /(File|In|Name|Max|Ms|Count)$/

const inside = (schema: unknown): unknown => {
  let at = schema as object
  while ('wrapped' in at || 'item' in at) at = ('wrapped' in at ? at.wrapped : at.item) as object
  return at
}

function* names(schema: unknown, path: string): Generator<string> {
  const at = inside(schema) as object
  if (!('entries' in at)) return void (yield path)
  for (const [name, entry] of Object.entries(at.entries as Record<string, v.GenericSchema>))
    yield* names(entry, `${path}.${name}`)
}

t.test('an option that is named like a secret is marked as one', t => {
  const marked = new Set(SECRETS.map(({ keys }) => keys.filter(key => key !== '[]').join('.')))
  const named = [...names(configSchema, '')]
    .map(path => path.slice(1))
    .filter(path => {
      const name = path.split('.').at(-1) ?? ''
      return LOOKS_SECRET.test(name) && !IS_NONE.test(name)
    })
  t.ok(named.includes('dashboard.identity.clientSecret'))
  t.ok(named.includes('networks.feed.xToken'))
  for (const path of named) t.ok(marked.has(path), `${path} has an owner`)
  for (const { keys, owners } of SECRETS) t.ok(owners.length > 0, keys.join('.'))
  t.end()
})

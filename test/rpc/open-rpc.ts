// @ts-expect-error Its types do not name what it exports.
import { openrpcDocument } from '@open-rpc/meta-schema'
import { Ajv } from 'ajv'
import t from 'tap'
import { toOpenRpc } from '../../src/rpc/open-rpc.js'
import { METHODS } from '../../src/rpc/registry.js'

const document = toOpenRpc(METHODS.values())

t.test('the document is valid against the meta-schema of OpenRPC', async t => {
  const ajv = new Ajv({ strict: false, validateSchema: false })
  // JSON schemas are defined by another document; they are compiled below.
  const definitions = { JSONSchemaObject: { properties: { $ref: { type: 'string' } } } }
  for (const $id of ['https://meta.json-schema.tools', 'https://meta.json-schema.tools/'])
    ajv.addSchema({ $id, type: ['object', 'boolean'], definitions })
  const isValid = ajv.compile(openrpcDocument)
  t.ok(isValid(document), JSON.stringify(isValid.errors))
  t.notOk(
    isValid({ ...document, methods: [{ name: 'x' }] }),
    'the meta-schema refuses an incomplete method',
  )
})

t.test('the document has every method with its schemas', async t => {
  t.strictSame(
    document.methods.map(({ name }) => name),
    [...METHODS.keys()],
  )
  const ajv = new Ajv({ strict: true, strictTypes: false, strictTuples: false })
  for (const { name, params, result } of document.methods)
    for (const { schema } of name === 'rpc.discover' ? params : [...params, result]) {
      t.notSame(schema, {}, name)
      t.doesNotThrow(() => ajv.compile(schema), name)
    }
})

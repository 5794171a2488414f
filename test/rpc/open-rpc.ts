// @ts-expect-error Its types do not name what it exports.
import { openrpcDocument } from '@open-rpc/meta-schema'
import { Ajv } from 'ajv'
import t from 'tap'
import { toOpenRpc } from '../../src/rpc/open-rpc.js'
import { METHODS } from '../../src/rpc/registry.js'
import { fakeReads } from '../fixtures/rpc/fake-reads.js'
import { askText, openDispatch, readVectors } from '../fixtures/rpc/vectors.js'

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

t.test('rpc.discover returns the document', async t => {
  const call = '{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'
  const { result } = JSON.parse(await askText(openDispatch(fakeReads({})), call)) as {
    result: unknown
  }
  t.strictSame(result, document)
})

/** Replaces integers over 53 bits, which are text with an `n` in the vectors, by numbers. */
const toNumbers = (value: unknown): unknown => {
  if (typeof value === 'string' && /^\d+n$/.test(value)) return Number(value.slice(0, -1))
  if (Array.isArray(value)) return value.map(toNumbers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toNumbers(item)]))
}

t.test('every vector matches the schemas', async t => {
  const ajv = new Ajv({ strict: false })
  let resultCount = 0
  for (const { name: method, params, result } of METHODS.values()) {
    if (method === 'rpc.discover') continue
    const isResult = ajv.compile(result)
    const checks = params.map(({ schema }) => ajv.compile(schema))
    for (const { name, request, reply } of readVectors(method)) {
      const answer = reply as { result?: unknown }
      if (!('result' in answer)) continue
      resultCount++
      t.ok(
        isResult(toNumbers(answer.result)),
        `${method} ${name}: ${JSON.stringify(isResult.errors)}`,
      )
      const { params: values = [] } = JSON.parse(request) as { params?: unknown[] }
      for (const [index, value] of values.entries()) {
        const check = checks[index]
        t.ok(
          check?.(value),
          `${method} ${name}, parameter ${index}: ${JSON.stringify(check?.errors)}`,
        )
      }
    }
  }
  t.ok(resultCount > 100, `${resultCount} results`)
})

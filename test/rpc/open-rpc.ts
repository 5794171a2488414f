// @ts-expect-error Its types do not name what it exports.
import { openrpcDocument } from '@open-rpc/meta-schema'
import { Ajv } from 'ajv'
import t from 'tap'
import { SUBSCRIPTION_DESCRIPTIONS } from '../../src/pubsub/descriptions.js'
import { SUBSCRIPTION_METHODS } from '../../src/pubsub/methods.js'
import { formatOpenRpc } from '../../src/rpc/open-rpc.js'
import { METHODS } from '../../src/rpc/registry.js'
import { createDispatch } from '../../src/rpc/dispatch.js'
import { defaults } from '../../src/rpc/options.js'
import { ERRORS, type Row } from '../../src/shared/errors.js'
import { SOCKET_SUBMISSIONS } from '../../src/submission/descriptions.js'
import { fakeReads } from '../fixtures/rpc/fake-reads.js'
import { askText, openDispatch, readVectors } from '../fixtures/rpc/vectors.js'

type Schema = Readonly<Record<string, unknown>>
type Content = { readonly name: string; readonly schema: Schema }
type Document = {
  readonly methods: readonly {
    readonly name: string
    readonly params: readonly (Content & { readonly required: boolean })[]
    readonly result: Content
    readonly errors: readonly { readonly code: number; readonly message: string }[]
    readonly examples?: readonly {
      readonly params: readonly { readonly name: string; readonly value: unknown }[]
      readonly result: { readonly value: unknown }
    }[]
    readonly 'x-transports': readonly string[]
    readonly 'x-notification'?: { readonly method: string; readonly result: Schema }
  }[]
}
const OTHERS = [...SUBSCRIPTION_DESCRIPTIONS, ...SOCKET_SUBMISSIONS]
const text = formatOpenRpc([...METHODS.values(), ...OTHERS])
const document = JSON.parse(text) as Document

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
    [...METHODS.keys(), ...OTHERS.map(({ name }) => name)],
  )
  t.equal(new Set(document.methods.map(({ name }) => name)).size, document.methods.length)
  const ajv = new Ajv({ strict: true, strictTypes: false, strictTuples: false })
  ajv.addFormat('uuid', /^[0-9a-f-]{36}$/)
  for (const { name, params, result, 'x-notification': notification } of document.methods) {
    const own = name === 'rpc.discover' ? params : [...params, result]
    const schemas = [...own.map(({ schema }) => schema), notification?.result]
    for (const schema of schemas.filter(given => given !== undefined)) {
      t.notSame(schema, {}, name)
      t.doesNotThrow(() => ajv.compile(schema), name)
    }
  }
})

t.test('rpc.discover returns the document', async t => {
  const call = '{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'
  const alone = await askText(openDispatch(fakeReads({})), call)
  const bytes = formatOpenRpc(METHODS.values())
  t.equal(alone, `{"jsonrpc":"2.0","result":${bytes},"id":1}`)
  const dispatch = createDispatch(defaults, {
    connectionMethods: SUBSCRIPTION_METHODS,
    otherMethods: OTHERS,
    reads: fakeReads({}),
    onCall() {},
    onFault() {},
    now: () => 0,
  })
  for (let time = 0; time < 2; time++)
    t.equal(await askText(dispatch, call), `{"jsonrpc":"2.0","result":${text},"id":1}`)
})

/** Replaces integers over 53 bits, which are text with an `n` in the vectors, by numbers. */
const toNumbers = (value: unknown): unknown => {
  if (typeof value === 'string' && /^\d+n$/.test(value)) return Number(value.slice(0, -1))
  if (Array.isArray(value)) return value.map(toNumbers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toNumbers(item)]))
}

/** The schema says which page sizes are useful; the service takes any integer, and clamps it. */
const withinLimit = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || !('limit' in value)) return value
  return typeof value.limit === 'number' ? { ...value, limit: 1 } : value
}

/** True where a message is the text of a row, whose fields may be anything. */
const isOfRow = ({ code, message }: Row, error: { code: number; message: string }): boolean =>
  code === error.code &&
  message.split(/\{\w+\}/).reduce<string | undefined>((rest, part) => {
    const at = rest?.indexOf(part) ?? -1
    return at === -1 ? undefined : rest?.slice(at + part.length)
  }, error.message) !== undefined

t.test('every error of a vector is declared by its method', async t => {
  let errorCount = 0
  for (const { name: method, errors } of METHODS.values())
    for (const { name, reply } of readVectors(method)) {
      const { error } = (reply ?? {}) as { error?: { code: number; message: string } }
      if (error === undefined) continue
      errorCount++
      const declared = errors.some(row => isOfRow(ERRORS[row], error))
      t.ok(declared, `${method} ${name}: ${error.message}`)
    }
  t.ok(errorCount > 100, `${errorCount} errors`)
})

t.test('a method has one error for each code, with all its texts', async t => {
  for (const { name, errors } of document.methods) {
    t.equal(new Set(errors.map(({ code }) => code)).size, errors.length, name)
    t.ok(errors.length > 2, name)
  }
})

t.test('every subscription that is served is described, and no other', async t => {
  const described = SUBSCRIPTION_DESCRIPTIONS.map(({ name }) => name)
  const unserved = /^(slotsUpdates|block|vote)/
  t.strictSame(
    described.toSorted(),
    [...SUBSCRIPTION_METHODS].filter(name => !unserved.test(name)).toSorted(),
  )
})

t.test('examples match the schemas of their methods', async t => {
  const ajv = new Ajv({ strict: false })
  let exampleCount = 0
  for (const { name, params, result, examples = [] } of document.methods)
    for (const example of examples) {
      exampleCount++
      for (const [index, { value }] of example.params.entries())
        t.ok(ajv.validate(params[index]?.schema ?? false, value), `${name}: ${ajv.errorsText()}`)
      t.ok(ajv.validate(result.schema, example.result.value), `${name}: ${ajv.errorsText()}`)
    }
  t.ok(exampleCount >= document.methods.length - 2, `${exampleCount} examples`)
})

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
      for (const [index, given] of values.entries()) {
        const value = withinLimit(given)
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

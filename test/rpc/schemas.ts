import { Ajv } from 'ajv'
import t from 'tap'
import { METHODS } from '../../src/rpc/registry.js'
import { readVectors } from '../fixtures/rpc/vectors.js'

/** Numbers of over 53 bits, which the vectors hold as text with an `n`, as the numbers they are. */
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

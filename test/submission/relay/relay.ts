import t, { type Test } from 'tap'
import { RpcError } from '../../../src/shared/errors.js'
import { accepted, idOf } from '../../fixtures/submission/relay-engine.js'
import { answer, openRawUpstream } from '../../fixtures/submission/raw-upstream.js'
import {
  type MachineOptions,
  openMachine,
  post,
  sendBundle,
  TIPS,
  toBundle,
} from '../../fixtures/submission/relay.js'

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const ID = 'ab'.repeat(32)
const ids = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => String(index).repeat(64))

const STATUSES = JSON.stringify({ jsonrpc: '2.0', result: ID, id: 1 })

const open = async (t: Test, edgeCount = 1, more: Partial<MachineOptions> = {}) => {
  const engine = await openRawUpstream(t, (socket, { body }) =>
    socket.write(answer(body.includes('"sendBundle"') ? accepted(body) : STATUSES)),
  )
  const { edges } = await openMachine(t, { urls: [engine.url], edgeCount, ...more })
  const [edge] = edges
  const call = (route: string, method: string, params?: unknown, headers = {}) =>
    post(edge.port, route, JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }), headers)
  return { engine, edge, edges, call }
}

t.test('a body that is not a call is refused, with a submission id', async t => {
  const { engine, edge } = await open(t)
  const good = sendBundle('/relay', toBundle('/relay'))
  const deep = `${'['.repeat(40)}${']'.repeat(40)}`
  const cases: [body: string, code: number, id: unknown][] = [
    ['', -32_700, null],
    ['{', -32_700, null],
    ['null', -32_700, null],
    ['5', -32_700, null],
    [`{"jsonrpc":"2.0","id":1,"method":"sendBundle","params":${deep}}`, -32_700, null],
    [`[${good}]`, -32_600, null],
    [`[${good},${good}]`, -32_600, null],
    ['[]', -32_600, null],
    ['[1]', -32_600, null],
    ['{"jsonrpc":"2.0","method":"sendBundle","params":[]}', -32_600, null],
    ['{"jsonrpc":"2.0","id":3,"params":[]}', -32_600, 3],
    ['{"jsonrpc":"2.0","id":3,"method":5}', -32_600, 3],
    ['{"jsonrpc":"1.0","id":3,"method":"sendBundle"}', -32_600, 3],
    ['{"id":3,"method":"sendBundle"}', -32_600, 3],
    ['{"jsonrpc":"2.0","id":3,"method":"sendBundle","params":"x"}', -32_600, 3],
    ['{"jsonrpc":"2.0","id":3,"method":"sendTransaction"}', -32_601, 3],
    // What is said first is that it is no JSON, then that there is no such method, then what its
    // parameters lack.
    ['{"jsonrpc":"2.0","id":3,"method":"sendTransaction","params":[', -32_700, null],
    ['{"jsonrpc":"2.0","id":3,"method":"sendTransaction","params":{"a":1}}', -32_601, 3],
    ['{"jsonrpc":"2.0","id":3,"method":"sendTransaction","params":[[],{}]}', -32_601, 3],
    ['{"jsonrpc":"2.0","id":3,"method":"sendBundle","params":[[],{}]}', -32_602, 3],
    ['{"jsonrpc":"2.0","id":3,"id":3,"method":"sendBundle"}', -32_600, 3],
    [good.replace('"encoding"', '"encoding":"base58","encoding"'), -32_600, 1],
    [good.replace('"encoding"', '"\\u0065ncoding":"base64","encoding"'), -32_600, 1],
    [good.replace('"mevProtect"', '"mevProtec\\u0074":true,"mevProtect"'), -32_600, 1],
    ['{"jsonrpc":"2.0","id":3,"method":"getTipAccounts","params":[{"a":1,"a":1}]}', -32_600, 3],
    ['{"jsonrpc":"2.0","id":3,"method":"sendbundle"}', -32_601, 3],
    ['{"jsonrpc":"2.0","id":3,"method":"__proto__"}', -32_601, 3],
    ['{"jsonrpc":"2.0","id":3,"method":"getAccountInfo","params":[]}', -32_601, 3],
  ]
  const seen = new Set<unknown>()
  for (const route of ['/relay', '/relay-bundle'])
    for (const [body, code, id] of cases) {
      const { status, headers, json } = await post(edge.port, route, body)
      t.equal(status, 200, body)
      t.equal(json.error?.code, code, body)
      t.equal(json.id, id, body)
      t.match(headers['x-relay-submission-id'], UUID_7, body)
      seen.add(headers['x-relay-submission-id'])
    }
  t.equal(seen.size, 2 * cases.length, 'every answer has one of its own')
  t.equal(engine.received.length, 0)
})

t.test('status methods are those of /relay-bundle', async t => {
  const { engine, call } = await open(t)
  for (const method of ['getBundleStatuses', 'getInflightBundleStatuses']) {
    t.equal((await call('/relay', method, [[ID]])).json.error?.code, -32_601)
    t.equal(engine.received.length, 0)
    t.equal((await call('/relay-bundle', method, [[ID]])).text, STATUSES)
    t.equal(engine.received.length, 1)
    engine.received.length = 0
  }
})

t.test('bundle ids: 1 to 5 of them, unique, of 64 hexadecimal characters', async t => {
  const { engine, call } = await open(t)
  const count = 'bundle id count must be from 1 to 5'
  const shape = (index: number) => `bundle id ${index} must be 64 hexadecimal characters`
  const cases: [name: string, params: unknown, error: string | undefined][] = [
    ['one', [[ID]], undefined],
    ['five', [ids(5)], undefined],
    ['six', [ids(6)], count],
    ['none', [[]], count],
    ['in capitals', [[ID.toUpperCase()]], undefined],
    ['63 characters', [[ID.slice(1)]], shape(0)],
    ['65 characters', [[`${ID}a`]], shape(0)],
    ['no hexadecimal', [[ID, `g${ID.slice(1)}`]], shape(1)],
    ['a space behind', [[ID, `${ID.slice(1)} `]], shape(1)],
    ['a line break behind', [[`${ID}\n`]], shape(0)],
    ['twice', [[ID, ids(1)[0], ID]], 'bundle ids 0 and 2 are the same'],
    ['twice, then in capitals', [[ID, ID.toUpperCase()]], 'bundle ids 0 and 1 are the same'],
    ['twice, first in capitals', [[ID.toUpperCase(), ID]], 'bundle ids 0 and 1 are the same'],
    [
      'not in a list',
      [ID],
      `Invalid param at index 0: invalid type: string "${ID}", expected a sequence`,
    ],
    ['a number', [[5]], 'Invalid param at index 0: invalid type: integer `5`, expected a string'],
    ['nothing', [], 'Missing param at index 0'],
    ['null', [null], 'Missing param at index 0'],
    ['options beside', [[ID], {}], 'Invalid parameters: Expected from 1 to 1 parameters.'],
    ['by name', { ids: [ID] }, '`params` should be an array'],
  ]
  for (const method of ['getBundleStatuses', 'getInflightBundleStatuses'])
    for (const [name, params, error] of cases) {
      engine.received.length = 0
      const { json, text } = await call('/relay-bundle', method, params)
      if (error === undefined) t.equal(text, STATUSES, name)
      else t.match(json, { id: 7, error: { code: -32_602, message: error } }, name)
      t.equal(engine.received.length, error === undefined ? 1 : 0, name)
    }
})

t.test('tip accounts and floors are the route’s own, and cost the engine nothing', async t => {
  const { engine, edge, call } = await open(t)
  for (const route of ['/relay', '/relay-bundle'] as const) {
    for (const params of [undefined, null, [], [null]]) {
      const tips = await call(route, 'getTipAccounts', params)
      t.strictSame(tips.json, { jsonrpc: '2.0', result: TIPS[route].engine, id: 7 })
      const config = await call(route, 'getServiceTipConfig', params)
      t.strictSame(config.json.result, {
        serviceTipAccounts: TIPS[route].service,
        serviceTipFloorLamports: 1_000_000,
        bundleEngineTipAccounts: TIPS[route].engine,
        bundleEngineTipFloorLamports: 1_000,
      })
      t.match(config.headers['x-relay-submission-id'], UUID_7)
    }
    for (const params of [[1], [{}], [null, null], {}]) {
      const { json } = await call(route, 'getTipAccounts', params)
      t.equal(json.error?.code, -32_602, JSON.stringify(params))
    }
  }
  // No parameters at all, as some clients send it.
  const bare = await post(
    edge.port,
    '/relay-bundle',
    '{"jsonrpc":"2.0","id":1,"method":"getTipAccounts"}',
  )
  t.strictSame(bare.json.result, TIPS['/relay-bundle'].engine)
  t.equal(engine.received.length, 0)
})

t.test('a submission is returned to its own access, on either route, at any edge', async t => {
  const { edges, call } = await open(t, 2)
  const bundle = toBundle('/relay-bundle')
  const sent = await post(edges[0].port, '/relay-bundle', sendBundle('/relay-bundle', bundle))
  const id = sent.headers['x-relay-submission-id']
  const ask = async (port: number, route: string, headers = {}) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getSubmission', params: [id] })
    return (await post(port, route, body, headers)).json.result
  }
  const [first, second] = edges
  const found = (await ask(first.port, '/relay-bundle')) as Record<string, unknown>
  t.match(found, {
    submissionId: id,
    network: 'main',
    location: 'fra',
    route: '/relay-bundle',
    bundleId: sent.headers['x-bundle-id'],
    checks: 'passed',
    joined: false,
    outcome: 'accepted',
    result: idOf(bundle),
    error: null,
    engine: { status: 200, words: sent.text },
  })
  t.equal((found['signatures'] as unknown[]).length, 2)
  t.notOk('accessId' in found)
  for (const { port } of [first, second ?? first])
    for (const route of ['/relay', '/relay-bundle']) t.strictSame(await ask(port, route), found)
  t.equal(await ask(first.port, '/relay', { 'x-access': 'access-2' }), null)
  t.equal(await ask(second?.port ?? 0, '/relay', { 'x-access': 'access-2' }), null)
  t.equal(await ask(first.port, '/relay', { 'x-network': 'other' }), null)

  const wrong: [params: unknown, message: string][] = [
    [[], 'Missing param at index 0'],
    [['x'], 'Invalid param: not a submission id'],
    [[`${String(id)} `], 'Invalid param: not a submission id'],
    [[5], 'Invalid param at index 0: invalid type: integer `5`, expected a string'],
    [[id, id], 'Invalid parameters: Expected from 1 to 1 parameters.'],
  ]
  for (const [params, message] of wrong)
    t.equal((await call('/relay', 'getSubmission', params)).json.error?.message, message)
  const unknown = '01890a5d-ac96-774b-bcce-b302099a8057'
  t.equal((await call('/relay', 'getSubmission', [unknown])).json.result, null)
})

t.test('a submission that a check refused is returned, too', async t => {
  const { call } = await open(t)
  const { headers } = await call('/relay', 'sendBundle', [[], { encoding: 'base64' }])
  const { json } = await call('/relay', 'getSubmission', [headers['x-relay-submission-id']])
  t.match(json.result, {
    outcome: 'invalid',
    checks:
      'params[1] must be exactly {"encoding":"base64","mevProtect":true,"revertProtection":true}',
    forwardedAtMs: null,
    bundleId: null,
    signatures: [],
  })
  // What is not a bundle is no submission.
  const none = await call('/relay', 'getTipAccounts')
  const other = await call('/relay', 'getSubmission', [none.headers['x-relay-submission-id']])
  t.equal(other.json.result, null)
})

t.test('an access that ended meanwhile forwards nothing and reads nothing', async t => {
  const refusal = { status: 401, contentType: 'application/json', body: '{}' }
  const texts = toBundle('/relay-bundle')
  const bundle = [texts, { encoding: 'base64' }]
  const cases: [method: string, params: unknown, asked: number][] = [
    ['sendBundle', bundle, 0],
    ['sendBundle', bundle, 1],
    ['getSubmission', ['01890a5d-ac96-774b-bcce-b302099a8057'], 1],
    ['getBundleStatuses', [[ID]], 0],
  ]
  for (const [method, params, asked] of cases) {
    let count = 0
    const recheck = () => (count++ < asked ? undefined : refusal)
    const { engine, call } = await open(t, 1, { recheck })
    const { status, text, headers } = await call('/relay-bundle', method, params)
    t.equal(status, 401, `${method}, authenticated again after ${asked}`)
    t.equal(text, '{}')
    t.match(headers['x-relay-submission-id'], UUID_7)
    t.equal(engine.received.length, 0)
  }
  // What is forwarded is answered: its outcome is the client's to know.
  let count = 0
  const { call } = await open(t, 1, { recheck: () => (count++ < 3 ? undefined : refusal) })
  t.equal((await call('/relay-bundle', 'sendBundle', bundle)).json.result, idOf(texts))
})

t.test('an internal fault is answered without its message and logged with its ids', async t => {
  const checkBundle = (): never => {
    throw new Error('canary')
  }
  const { engine, edge, call } = await open(t, 1, { checkBundle })
  const { status, json, headers } = await call('/relay-bundle', 'sendBundle', [
    toBundle('/relay-bundle'),
    { encoding: 'base64' },
  ])
  t.equal(status, 200)
  t.strictSame(json, { jsonrpc: '2.0', error: { code: -32_603, message: 'Internal error' }, id: 7 })
  t.ok(edge.lines.some(line => line.includes(String(headers['x-relay-submission-id']))))
  t.equal(headers['x-bundle-id'], idOf(toBundle('/relay-bundle')))
  t.equal(engine.received.length, 0)
})

t.test('a bundle is refused and recorded while too many checks wait', async t => {
  const { engine, call } = await open(t, 1, {
    checkBundle: () => Promise.reject(new RpcError('checksOverloaded')),
  })
  const params = [toBundle('/relay-bundle'), { encoding: 'base64' }] as const
  const { json, headers } = await call('/relay-bundle', 'sendBundle', params)
  const message = 'Too many transaction checks in flight; retry with backoff'
  t.strictSame(json, { jsonrpc: '2.0', error: { code: -32_603, message }, id: 7 })
  t.equal(engine.received.length, 0)
  const bundleId = idOf(params[0])
  t.equal(headers['x-bundle-id'], bundleId)
  const id = headers['x-relay-submission-id']
  const { result } = (await call('/relay-bundle', 'getSubmission', [id])).json
  t.match(result, { outcome: 'full', checks: message, bundleId, forwardedAtMs: null })
})

t.test('every call is counted by its method and its end', async t => {
  const { edge, call } = await open(t)
  const before = edge.meterEvents.length
  await call('/relay', 'getTipAccounts')
  await call('/relay', 'getTipAccounts', [1])
  await call('/relay', 'x'.repeat(1_000))
  await post(edge.port, '/relay', '{')
  await call('/relay-bundle', 'sendBundle', [toBundle('/relay-bundle'), { encoding: 'base64' }])
  t.strictSame(
    edge.meterEvents.slice(before).filter(word => word.includes(' ')),
    [
      'getTipAccounts ok',
      'getTipAccounts paramCount',
      'unknown methodNotFound',
      'none parseError',
      'sendBundle ok',
    ],
  )
})

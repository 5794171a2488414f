import { readFileSync } from 'node:fs'
import t from 'tap'
import { failure, openEngine, result } from '../../fixtures/sandbox/bundle-engine.js'
import { SHARED_ABSENT, sharedPath } from '../../fixtures/shared.js'
import { unlessPresent } from '../../fixtures/skip-absent.js'
import { ask, callUpstream } from '../../fixtures/sandbox/upstream.js'

t.test('each bundle method has its own path', async t => {
  const { tips, call } = await openEngine(t)
  const empty = result({ context: { slot: 1 }, value: [] })
  const cases: [method: string, params: unknown, body: string][] = [
    ['getTipAccounts', [], result(tips.engine)],
    ['getTipAccounts', null, result(tips.engine)],
    ['getBundleStatuses', [[]], empty],
    ['getBundleStatuses', [['a', 'b', 'c', 'd', 'e']], empty],
    ['getBundleStatuses', [['a', 'b', 'c', 'd', 'e', 'f']], failure('at most 5 bundle ids')],
    ['getInflightBundleStatuses', [[]], empty],
    ['getInflightBundleStatuses', ['a'], failure('the first parameter is a list of bundle ids')],
    ['getInflightBundleStatuses', [[1]], failure('the first parameter is a list of bundle ids')],
    ['sendBundle', [[]], failure('bundle has no transactions')],
  ]
  for (const [method, params, body] of cases)
    for (const path of ['/api/v1/bundles', `/api/v1/${method}`])
      t.match(await call(method, params, path), { body }, `${path} ${method}`)
  t.match(await call('sendBundle', [[]], '/api/v1/getTipAccounts'), {
    status: 400,
    body: failure('Method not found', -32601),
  })
})

t.test('HTTP requests that are not calls are refused', async t => {
  const { url } = await openEngine(t)
  const bundles = `${url}/api/v1/bundles`
  const json = { 'content-type': 'application/json' }
  const WRONG_TYPE = failure('Invalid content type', -32600, 'null')
  t.match(await ask(bundles, { method: 'POST', body: '{}' }), { status: 400, body: WRONG_TYPE })
  t.match(await ask(bundles), { status: 405 })
  t.match(await ask(`${url}/ping`), { status: 404 })
  t.match(await ask(bundles, { method: 'POST', headers: json, body: '{' }), {
    status: 400,
    body: /-32700.*"id":null/,
  })
})

t.test('a credential is optional, but a wrong one is refused', async t => {
  const { url } = await openEngine(t, { uuid: 'u', apiKey: 'k' })
  const cases: [path: string, headers: Record<string, string>, status: number][] = [
    ['/api/v1/bundles', {}, 200],
    ['/api/v1/bundles', { 'x-jito-auth': 'u' }, 200],
    ['/api/v1/bundles?uuid=u', {}, 200],
    ['/api/v1/bundles', { 'x-jito-auth': 'v' }, 401],
    ['/api/v1/bundles?uuid=', {}, 401],
    ['/iris', { 'x-api-key': 'k' }, 200],
    ['/iris?api-key=k', {}, 200],
    ['/iris', { 'x-api-key': 'u' }, 401],
  ]
  for (const [path, headers, status] of cases) {
    const method = path.startsWith('/iris') ? 'getHealth' : 'getTipAccounts'
    const answer = await callUpstream(`${url}${path}`, method, [], headers)
    t.equal(answer.status, status, `${path} ${JSON.stringify(headers)}`)
  }
})

t.test('the rate limit answers with the text and id of the real engine', async t => {
  let nowMs = 10_000
  const now = () => nowMs
  const limited = await openEngine(t, { requestsPerSecondMax: 1 }, { now })
  const tipAccounts = ({ call }: Awaited<ReturnType<typeof openEngine>>) =>
    call('getTipAccounts', [])
  const LIMIT = 'Rate limit exceeded. Limit: 1 per second for txn requests'
  t.match(await tipAccounts(limited), { status: 200 })
  nowMs += 100
  t.match(await tipAccounts(limited), { status: 429, body: failure(LIMIT, -32097, 'null') })
  t.match(await tipAccounts(limited), {
    status: 429,
    body: failure(`${LIMIT}. Back-off triggered: Retry after 900ms`, -32097, 'null'),
  })
  nowMs += 900
  t.match(await tipAccounts(limited), { status: 200 })
})

const captured = sharedPath('bundles/sendBundle-5af093dd.json')

t.test(
  'congestion is answered as it was captured',
  { skip: unlessPresent(captured !== undefined, SHARED_ABSENT) },
  async t => {
    const congested = await openEngine(t, { congestionPerSecondMax: 1 }, { now: () => 0 })
    await congested.call('getTipAccounts', [])
    const answer = await congested.call('getTipAccounts', [])
    t.equal(answer.status, 429)
    t.equal(answer.headers.get('retry-after'), null)
    const { response } = JSON.parse(readFileSync(captured ?? '', 'utf8')) as {
      response: { body: unknown }
    }
    t.strictSame(answer.body, JSON.stringify(response.body))
  },
)

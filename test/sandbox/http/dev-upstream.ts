import { connect } from 'node:net'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { openDevUpstream } from '../../../src/sandbox/http/dev-upstream.js'
import { until } from '../../fixtures/until.js'
import { ask, setFault, received } from '../../fixtures/sandbox/upstream.js'

/** An upstream that echoes its requests and counts them. */
const open = async (t: Test, options: Parameters<typeof openDevUpstream>[0] = {}) => {
  let executed = 0
  const upstream = await openDevUpstream(options, ({ method, pathname, query, body }) => {
    executed++
    if (pathname === '/bug') throw new Error('a bug')
    return {
      status: 202,
      contentType: 'text/plain',
      body: `${method} ${pathname} ${query.get('a')} ${body.length}`,
    }
  })
  t.teardown(() => upstream.close())
  return { url: upstream.url, executed: () => executed }
}
const post = (url: string, body = 'hello') => ask(url, { method: 'POST', body })

t.test('requests are answered and recorded unchanged', async t => {
  const { url } = await open(t)
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
  const bytes = Uint8Array.from({ length: 256 }, (_none, index) => index)
  const first = await ask(`${url}/x?a=1`, {
    method: 'POST',
    headers: { 'X-Test': 'y' },
    body: bytes,
  })
  t.match(first, { status: 202, type: 'text/plain', body: 'POST /x 1 256' })
  await ask(`${url}/ping`)
  const seen = await received(url)
  t.strictSame(
    seen.map(({ path }) => path),
    ['/x?a=1', '/ping'],
  )
  t.equal(seen[0]?.headers['x-test'], 'y')
  t.equal(seen[0]?.body, Buffer.from(bytes).toString('latin1'))
  t.match(await setFault(url, { clear: true }), { status: 200, body: '{}' })
  t.strictSame(await received(url), [])
})

t.test('a fault replaces parts of the answer', async t => {
  const { url, executed } = await open(t)
  const cases: [name: string, what: object, answer: object, isExecuted: boolean][] = [
    ['a status', { status: 503 }, { status: 503, type: 'application/json', body: '' }, false],
    ['a body', { body: '{"a":' }, { status: 200, type: 'application/json', body: '{"a":' }, false],
    [
      'all',
      { status: 400, contentType: 'x/y', body: 'z' },
      { status: 400, type: 'x/y', body: 'z' },
      false,
    ],
    ['beyond latin1', { body: 'ц€' }, { body: 'ц€' }, false],
    [
      'a content type',
      { contentType: 'x/y' },
      { status: 202, type: 'x/y', body: 'POST / null 5' },
      true,
    ],
    [
      'headers',
      { headers: { 'X-A': 'b', server: 'c' } },
      { status: 202, body: 'POST / null 5' },
      true,
    ],
    ['a delay', { delayMs: 30 }, { status: 202, body: 'POST / null 5' }, true],
    ['a drip', { dripMs: 1, body: 'drop' }, { status: 200, body: 'drop' }, false],
  ]
  for (const [name, what, answer, isExecuted] of cases) {
    const before = executed()
    t.equal((await setFault(url, { clear: true, ...what })).status, 200, name)
    t.match(await post(url), answer, name)
    t.match(await post(url), answer, `${name}, the second time`)
    t.equal(executed() - before, isExecuted ? 2 : 0, `${name}: executed or not`)
  }
  await setFault(url, { headers: { 'X-A': 'b', server: 'c', 'set-cookie': ['d=1', 'e=2'] } })
  const { headers } = await post(url)
  t.strictSame([headers.get('x-a'), headers.get('server')], ['b', 'c'])
  t.strictSame(headers.getSetCookie(), ['d=1', 'e=2'])
  await setFault(url, { clear: true })
  t.match(await post(url), { status: 202 }, 'normal again')
})

t.test('a fault body is sent byte for byte, up to ten megabytes', async t => {
  const { url } = await open(t)
  const garbage = Buffer.from(Uint8Array.from({ length: 256 }, (_none, index) => index))
  await setFault(url, { body: garbage.toString('latin1'), times: 1 })
  const response = await fetch(url, { method: 'POST' })
  t.strictSame(Buffer.from(await response.arrayBuffer()), garbage)
  await setFault(url, { body: 'x'.repeat(10 * 1024 ** 2), times: 1 })
  t.equal((await post(url)).body.length, 10 * 1024 ** 2)
})

t.test('a fault ends after its number of requests, and pings do not count', async t => {
  const { url } = await open(t)
  await setFault(url, { status: 500, times: 2 })
  const statuses: number[] = []
  for (const path of ['/a', '/ping', '/b', '/ping', '/c'])
    statuses.push((await ask(`${url}${path}`)).status)
  t.strictSame(statuses, [500, 202, 500, 202, 202])
})

t.test('a connection is reset before the body is read, or after execution', async t => {
  const { url, executed } = await open(t)
  for (const [reset, count, body] of [
    ['before', 0, ''],
    ['after', 1, 'hello'],
  ] as const) {
    const before = executed()
    await setFault(url, { clear: true, reset, times: 1 })
    await t.rejects(post(`${url}/${reset}`), { cause: { code: 'ECONNRESET' } }, reset)
    t.equal(executed() - before, count, `${reset}: executed or not`)
    t.match(await received(url), [{ path: `/${reset}`, body }])
    t.match(await post(url), { status: 202 })
  }
})

t.test('a delay is added after execution', async t => {
  const { url, executed } = await open(t)
  await setFault(url, { delayMs: 60_000, times: 1 })
  const left = new AbortController()
  const pending = fetch(url, { method: 'POST', body: 'x', signal: left.signal })
  await until('the request is executed', () => executed() === 1)
  left.abort()
  await t.rejects(pending, { name: 'AbortError' })
  t.match(await post(url), { status: 202 }, 'the next one is not delayed')
})

t.test('a drip stops when its client disconnects', async t => {
  const { url } = await open(t)
  await setFault(url, { dripMs: 60_000, body: 'never', times: 1 })
  const left = new AbortController()
  const response = await fetch(url, { signal: left.signal })
  t.equal(response.status, 200, 'the head is sent immediately')
  left.abort()
  await t.rejects(response.text(), { name: 'AbortError' })
})

t.test('an invalid control request is refused and changes nothing', async t => {
  const { url } = await open(t)
  const cases: [text: string, error: string][] = [
    ['{', 'not JSON'],
    ['[]', 'not an object'],
    ['null', 'not an object'],
    ['{"clear":1}', 'clear must be true or false'],
    ['{"stauts":500}', 'stauts is unknown'],
    ['{"status":199}', 'status cannot be 199'],
    ['{"status":600}', 'status cannot be 600'],
    ['{"status":"500"}', 'status cannot be "500"'],
    ['{"body":{}}', 'body cannot be {}'],
    ['{"contentType":"a\\nb"}', 'contentType cannot be "a\\nb"'],
    ['{"headers":{"a b":"c"}}', 'headers cannot be {"a b":"c"}'],
    ['{"headers":{"a":1}}', 'headers cannot be {"a":1}'],
    ['{"headers":[]}', 'headers cannot be []'],
    ['{"delayMs":-1}', 'delayMs cannot be -1'],
    ['{"reset":true}', 'reset cannot be true'],
    ['{"dripMs":0}', 'dripMs cannot be 0'],
    ['{"times":0}', 'times cannot be 0'],
    ['{"times":1.5}', 'times cannot be 1.5'],
  ]
  for (const [text, error] of cases) {
    const answer = await ask(`${url}/_control`, { method: 'POST', body: text })
    t.match(answer, { status: 400, body: JSON.stringify({ error }) }, text)
  }
  t.equal((await post(url)).status, 202)
  t.equal((await ask(`${url}/_control`, { method: 'DELETE' })).status, 405)
})

t.test('the list of received requests is bounded', async t => {
  const { url } = await open(t, { receivedCountMax: 3 })
  for (const body of ['1', '2', '3', '4']) await post(url, body)
  t.strictSame(
    (await received(url)).map(({ body }) => body),
    ['2', '3', '4'],
  )
  const bytes = await open(t, { receivedBytesMax: 3_000 })
  for (const letter of ['a', 'b', 'c']) await post(bytes.url, letter.repeat(1_000))
  t.match(await received(bytes.url), [{ body: 'c'.repeat(1_000) }], 'two entries exceed the bound')
})

t.test('a body over the limit is 413, an exception is 500, the server keeps running', async t => {
  const { url } = await open(t, { bodyBytesMax: 10 })
  t.match(await post(url, 'x'.repeat(10)), { status: 202 })
  t.match(await post(url, 'x'.repeat(11)), { status: 413 })
  t.match(await post(`${url}/bug`), { status: 500, body: 'dev upstream failed: Error: a bug' })
  t.match(await post(url), { status: 202 })
})

t.test('an incomplete request is recorded without a body', async t => {
  const { url, executed } = await open(t)
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write('POST /half HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf')
  await until('its head is recorded', async () => (await received(url)).length === 1)
  socket.destroy()
  await once(socket, 'close')
  t.match(await received(url), [{ path: '/half', body: '' }])
  t.equal(executed(), 0)
})

t.test('close terminates open connections', async t => {
  const upstream = await openDevUpstream({}, () => ({ status: 200, contentType: 'a/b', body: '' }))
  await setFault(upstream.url, { delayMs: 60_000 })
  const pending = fetch(upstream.url)
  await until('the request is recorded', async () => (await received(upstream.url)).length === 1)
  await upstream.close()
  await t.rejects(pending)
  await t.rejects(fetch(upstream.url))
})

import t from 'tap'
import { EXPOSED_HEADERS } from '../../../src/server/http/cors.js'
import {
  BATCH,
  BODIES,
  BUNDLE,
  bundle,
  BYTES_TYPE,
  call,
  GOOD,
  JSON_TYPE,
  OK,
  openTestLander,
  SINGLE,
  single,
} from '../../fixtures/submission/lander.js'
import { answer } from '../../fixtures/submission/raw-upstream.js'
import { connect, post as toPost } from '../../fixtures/server/server.js'
import { LANDER_CREDENTIAL } from '../../fixtures/submission/submission-edge.js'
import { base64, frame, sized, tipping } from '../../fixtures/sandbox/tipping.js'
import { until } from '../../fixtures/until.js'

/** Where the lander has what each route is for. */
const PATHS: Readonly<Record<string, string>> = {
  [SINGLE]: '/send',
  [BUNDLE]: '/sendBundle',
  [BATCH]: '/sendBatch',
}

t.test('what was forwarded is answered after a revocation, nothing more is', async t => {
  let answerNow = (): void => {}
  const { raw, edge, token, post } = await openTestLander(
    t,
    s => {
      answerNow = () => void s.write(answer(OK))
    },
    { upstream: { answerMs: 10_000 } },
  )
  const forwarded = post(SINGLE, single(GOOD))
  await until('it is forwarded', () => raw.received.length === 1)
  const slow = toPost(`/${token}${SINGLE}`, single(GOOD), ['Content-Type: application/json'])
  const { socket, until: heard } = await connect(edge.port)
  socket.write(slow.slice(0, -1))
  await until('both are in', () => edge.server.stats().requestsInFlight === 2)
  await edge.revoke()
  socket.write(slow.slice(-1))
  t.match(await heard(now => now.includes('\r\n\r\n')), /^HTTP\/1.1 401 /)
  answerNow()
  t.equal((await forwarded).text, OK)
  t.equal((await post(SINGLE, single(GOOD))).status, 401)
  t.equal(raw.received.length, 1)
  socket.destroy()
})

t.test('the token in every form that is allowed, and in no other', async t => {
  const { raw, edge, token } = await openTestLander(t)
  const wrong = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
  type Form = [
    name: string,
    prefix: string,
    query: string,
    headers: Record<string, string>,
    status: number,
  ]
  const forms: Form[] = [
    ['in the path', `/${token}`, '', {}, 200],
    ['in the path, with a query', `/${token}`, '?a=b&api-key=no', {}, 200],
    ['in the path, with the path that a client appends', `/${token}`, '?x=/bundles', {}, 200],
    ['x-token', '', '', { 'x-token': token }, 200],
    ['x-api-key', '', '', { 'x-api-key': token }, 200],
    ['Authorization', '', '', { authorization: `Bearer ${token}` }, 200],
    ['Authorization in other letters', '', '', { authorization: `bEARER ${token}` }, 200],
    ['api-key', '', `?api-key=${token}`, {}, 200],
    ['api-key among others', '', `?a=b&api-key=${token}&c=d`, {}, 200],
    ['api-key with an appended path', '', `?api-key=${token}/bundles`, {}, 200],
    ['none', '', '', {}, 401],
    ['a wrong one in the path', `/${wrong}`, '', {}, 401],
    [
      'a wrong one in the path, a right one in a header',
      `/${wrong}`,
      '',
      { 'x-token': token },
      401,
    ],
    ['a wrong one in a header', '', '', { 'x-api-key': wrong }, 401],
    ['a wrong one in the query', '', `?api-key=${wrong}`, {}, 401],
    ['another name in the query', '', `?apikey=${token}`, {}, 401],
    ['the end of another name', '', `?x-api-key=${token}`, {}, 401],
    ['Basic', '', '', { authorization: `Basic ${token}` }, 401],
    ['of another location', `/${edge.elsewhere}`, '', {}, 401],
    ['of another location in a header', '', '', { 'x-token': edge.elsewhere }, 401],
    ['of a network without a lander', `/${edge.bare}`, '', {}, 404],
  ]
  for (const [route, body] of BODIES)
    for (const [name, prefix, query, headers, status] of forms) {
      const before = raw.received.length
      const type = route === BATCH ? BYTES_TYPE : JSON_TYPE
      const path = `${prefix}${route}${query}`
      const {
        status: got,
        text,
        headers: lines,
      } = await edge.post(path, body, {
        ...type,
        ...headers,
      })
      t.equal(got, status, `${route}: ${name}`)
      t.equal(raw.received.length - before, status === 200 ? 1 : 0, 'and what is forwarded')
      if (status === 200) {
        const { path: asked, head } = raw.received.at(-1) ?? {}
        t.equal(asked, PATHS[route], 'without the client’s query')
        t.notMatch(head, token, 'without its token')
      }
      t.equal(lines['access-control-allow-origin'], '*')
      if (status === 401) t.equal(text, '{"error":{"message":"Unauthorized"}}')
      if (status === 404) t.equal(text, '{"error":{"message":"This network has no lander"}}')
    }
  t.notMatch(edge.lines.join(), token)
  const noted = edge.lines.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'submission')
  t.equal(noted.length, raw.received.length, 'a line for each that was let in')
  const [, body = ''] = BODIES[0] ?? []
  t.match(noted[0], {
    requestId: /^[0-9a-f-]{36}$/,
    tokenId: /^tok_/,
    location: 'fra',
    network: 'main',
    route: SINGLE,
    bytes: body.length,
  })
})

t.test('other methods and other paths', async t => {
  const { edge, token, raw } = await openTestLander(t)
  const cases: [method: string, path: string, status: number][] = [
    ['GET', `/${token}/lander`, 405],
    ['PUT', '/lander', 405],
    ['OPTIONS', `/${token}/lander`, 204],
    ['GET', `/${token}/lander/`, 405],
    ['POST', `/${token}/lander//`, 404],
    ['POST', `/${token}/landers`, 404],
    ['POST', `/${token}/x/lander`, 404],
    ['POST', '/lander-submit', 401],
  ]
  for (const [method, path, status] of cases) {
    const body = method === 'POST' ? { body: single(GOOD) } : {}
    const response = await fetch(edge.url + path, { method, headers: JSON_TYPE, ...body })
    t.equal(response.status, status, `${method} ${path.replace(token, '<token>')}`)
    await response.arrayBuffer()
  }
  t.equal(raw.received.length, 0)
})

t.test('content types', async t => {
  const { edge, token, raw } = await openTestLander(t)
  const cases: [route: string, type: string | undefined, status: number][] = [
    [SINGLE, 'application/json', 200],
    [SINGLE, 'Application/JSON; charset=utf-8', 200],
    [SINGLE, undefined, 200],
    [SINGLE, 'text/plain', 415],
    [SINGLE, 'application/octet-stream', 415],
    [SINGLE, 'application/jsonp', 415],
    [BUNDLE, 'application/json;a=b', 200],
    [BUNDLE, 'application/x-www-form-urlencoded', 415],
    [BATCH, 'application/octet-stream', 200],
    [BATCH, 'Application/Octet-Stream ; a=b', 200],
    [BATCH, 'application/json', 415],
    [BATCH, 'application/octet', 415],
    [BATCH, undefined, 415],
    [BATCH, '', 415],
  ]
  for (const [route, type, status] of cases) {
    const before = raw.received.length
    const body = BODIES.find(([of]) => of === route)?.[1] ?? ''
    const headers = type === undefined ? {} : { 'content-type': type }
    const { status: got, text } = await edge.post(`/${token}${route}`, Buffer.from(body), headers)
    t.equal(got, status, `${route}: ${type}`)
    t.equal(raw.received.length - before, status === 200 ? 1 : 0)
    const wanted = route === BATCH ? 'application/octet-stream' : 'application/json'
    if (status === 415) t.equal(text, `{"error":{"message":"Content-Type: ${wanted} is required"}}`)
  }
})

t.test('the body is forwarded byte for byte, and nothing else of the client is', async t => {
  const { raw, post } = await openTestLander(t)
  const text = base64(GOOD)
  const bodies: [route: string, body: string | Uint8Array][] = [
    [SINGLE, single(GOOD)],
    [SINGLE, single(GOOD, null)],
    [SINGLE, single(GOOD, {})],
    [SINGLE, single(GOOD, { encoding: 'base64', skipPreflight: true, maxRetries: 0, x: [{}] })],
    [SINGLE, call('sendTransaction', [text], 'c9bf9e57-1685-4c89-bafb-ff5af830be8a')],
    [SINGLE, call('sendTransaction', [text], null)],
    [SINGLE, call('sendTransaction', [text], 'ä "\\')],
    [
      SINGLE,
      `{"id":18446744073709551616,"params":["${text}"],"method":"sendTransaction","jsonrpc":"2.0"}`,
    ],
    [
      SINGLE,
      `\n {\t"jsonrpc" : "2.0", "id":1.50e1,\r\n"method":"send\\u0054ransaction","params":["${text}" , {"encoding" :"base64"}]} \n`,
    ],
    [BUNDLE, bundle([GOOD, tipping()], { encoding: 'base64', x: 1 })],
    [BUNDLE, bundle([GOOD])],
    [BATCH, frame(GOOD, tipping(), sized(1232))],
  ]
  const own = {
    cookie: 'a=b',
    authorization: 'Bearer client',
    'x-api-key': 'client',
    'x-token': 'client',
    'x-forwarded-for': '1.2.3.4',
    'user-agent': 'client/1',
    te: 'trailers',
    'solana-client': 'js/1',
    'proxy-authorization': 'Basic x',
    accept: 'text/html',
    'accept-encoding': 'gzip',
  }
  for (const [route, body] of bodies) {
    raw.received.length = 0
    t.match(await post(route, body, own), { status: 200, text: OK }, String(body).slice(0, 90))
    const [request] = raw.received
    t.strictSame(request?.body, Buffer.from(body), 'the bytes')
    t.strictSame(request?.head.split('\r\n').toSorted(), [
      `POST ${PATHS[route]} HTTP/1.1`,
      'accept-encoding: identity',
      'connection: keep-alive',
      `content-length: ${Buffer.byteLength(body)}`,
      `content-type: ${route === BATCH ? 'application/octet-stream' : 'application/json'}`,
      `host: 127.0.0.1:${raw.port}`,
      `x-api-key: ${LANDER_CREDENTIAL}`,
    ])
  }
})

t.test('what belongs to one connection stays on it', async t => {
  const { raw, edge, token } = await openTestLander(t)
  const lines = [
    'Connection: X-Hop, Keep-Alive',
    'X-Hop: 1',
    'Keep-Alive: timeout=5',
    'Proxy-Connection: keep-alive',
    'Upgrade: h2c',
    'Trailer: x',
    'Expect: nothing',
  ]
  const client = await connect(edge.port)
  client.socket.write(toPost(`/${token}${SINGLE}`, single(GOOD), lines), 'latin1')
  await client.until(received => received.includes(OK))
  client.socket.destroy()
  const names = raw.received[0]?.head.split('\r\n').map(line => line.split(':')[0])
  t.strictSame(names?.slice(1).toSorted(), [
    'accept-encoding',
    'connection',
    'content-length',
    'content-type',
    'host',
    'x-api-key',
  ])
})

t.test('a body in chunks is forwarded as one', async t => {
  const { raw, edge, token } = await openTestLander(t)
  for (const [route, body] of BODIES) {
    const bytes = Buffer.from(body)
    const chunks = [bytes.subarray(0, 40), bytes.subarray(40)].map(chunk =>
      Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
    )
    const type = route === BATCH ? 'application/octet-stream' : 'application/json'
    const client = await connect(edge.port)
    client.socket.write(
      `POST /${token}${route} HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    for (const chunk of chunks) client.socket.write(chunk)
    client.socket.write('0\r\n\r\n')
    t.match(await client.until(received => received.includes(OK)), /^HTTP\/1.1 200 /, route)
    client.socket.destroy()
    const [seen] = raw.received.splice(0)
    t.strictSame(seen?.body, bytes)
    t.strictSame(seen?.head.split('\r\n').toSorted(), [
      `POST ${PATHS[route]} HTTP/1.1`,
      'accept-encoding: identity',
      'connection: keep-alive',
      `content-length: ${bytes.length}`,
      `content-type: ${type}`,
      `host: 127.0.0.1:${raw.port}`,
      `x-api-key: ${LANDER_CREDENTIAL}`,
    ])
  }
})

t.test('the credential may be in the query, where it replaces the client’s', async t => {
  const upstream = { credentialIn: 'query', credentialName: 'api-key' }
  const { raw, edge, token } = await openTestLander(t, undefined, { upstream })
  for (const [route, body] of BODIES) {
    const type = route === BATCH ? BYTES_TYPE : JSON_TYPE
    t.match(await edge.post(`${route}?mev-protect=true&api-key=${token}`, body, type), {
      status: 200,
      text: OK,
    })
    const [seen] = raw.received.splice(0)
    t.equal(seen?.path, `${PATHS[route]}?api-key=${LANDER_CREDENTIAL}`)
    t.notMatch(seen?.head, 'x-api-key')
  }
})

t.test('what comes back is what the lander said', async t => {
  const lines = (type: string, ...more: string[]): string[] => [
    ...(type === '' ? [] : [`Content-Type: ${type}`]),
    'Set-Cookie: balancer=1',
    'Server: lander/1',
    'X-Powered-By: lander',
    'Via: 1.1 lander',
    'Access-Control-Allow-Origin: https://lander.example',
    // What is about the connection between the two, and what would lead the client elsewhere.
    'Connection: keep-alive, X-Hop',
    'X-Hop: 1',
    'Keep-Alive: timeout=77',
    'Proxy-Authenticate: Basic',
    'Trailer: x',
    'WWW-Authenticate: Basic',
    'Location: http://lander.example/',
    'X-Bundle-Id: 1',
    ...more,
  ]
  const counts = '{ "attempted":3,"accepted":2, "rejected":1,"parse_error":null}\n'
  type Case = [name: string, status: string, type: string, body: string | Buffer, more: string[]]
  const cases: Case[] = [
    ['a signature', '200 OK', 'application/json', OK, []],
    ['counts with 400', '400 Bad Request', 'application/json', counts, []],
    ['plain text', '400 Bad Request', 'text/plain; charset=utf-8', 'tip required', []],
    ['a page', '429 Too Many', 'text/html', '<html>ä</html>', ['Retry-After: 2']],
    ['nothing', '503 Service Unavailable', '', '', []],
    ['nothing at all', '204 No Content', '', '', []],
    ['another place', '302 Found', 'text/plain', 'elsewhere', []],
    ['no type', '200 OK', '', 'x', []],
    ['bytes', '200 OK', 'application/octet-stream', Buffer.of(0, 255, 13, 10, 128), []],
    ['an unknown status', '299 Odd', 'text/plain', 'odd', []],
    ['600 KB', '200 OK', 'text/plain', 'x'.repeat(600_000), []],
  ]
  let now: Buffer = Buffer.alloc(0)
  const { post } = await openTestLander(t, s => s.write(now))
  for (const [name, status, type, body, more] of cases)
    for (const [route, sent] of BODIES) {
      now = answer(body, { status, lines: lines(type, ...more) })
      const reply = await post(route, sent)
      t.equal(reply.status, Number(status.slice(0, 3)), `${route}: ${name}`)
      t.ok(reply.body.equals(Buffer.from(body)), 'the bytes')
      t.equal(reply.headers['content-type'], type === '' ? undefined : type)
      const allowed = new Set([
        'content-type',
        'content-length',
        'keep-alive',
        'date',
        'access-control-allow-origin',
        'access-control-expose-headers',
        'x-content-type-options',
        ...more.map(line => line.split(':')[0]?.toLowerCase()),
      ])
      t.strictSame(
        Object.keys(reply.headers).filter(header => !allowed.has(header)),
        [],
        'no header of the lander’s own',
      )
      t.not(reply.headers['keep-alive'], 'timeout=77')
      t.equal(reply.headers['access-control-allow-origin'], '*')
      for (const header of EXPOSED_HEADERS)
        t.match(reply.headers['access-control-expose-headers'], header)
      for (const line of more) {
        const [header = '', value] = line.split(': ')
        t.equal(reply.headers[header.toLowerCase()], value)
      }
    }
})

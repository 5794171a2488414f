import { readdirSync, readFileSync } from 'node:fs'
import type net from 'node:net'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { EXPOSED_HEADERS } from '../../src/server/cors.js'
import type { TransactionChecks, Verdict } from '../../src/shared/native.js'
import { createLander, type Recheck } from '../../src/submission/lander.js'
import { defaults, type Options as LanderOptions } from '../../src/submission/lander-options.js'
import { openUpstream } from '../../src/submission/upstream.js'
import { defaults as upstreamDefaults } from '../../src/submission/upstream-options.js'
import { RpcError } from '../../src/shared/errors.js'
import { createLog } from '../../src/shared/log.js'
import {
  answer,
  blackholePort,
  openRawUpstream,
  refusedPort,
  type Script,
} from '../fixtures/raw-upstream.js'
import { connect, openTestServer, post as toPost } from '../fixtures/server.js'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'
import {
  LANDER_CREDENTIAL,
  openSubmissionEdge,
  type HttpAnswer,
  type LanderSection,
} from '../fixtures/submission-edge.js'
import { base64, FLOOR, forged, frame, sized, tipping, TIPS } from '../fixtures/tipping.js'
import { until } from '../fixtures/until.js'

const SINGLE = '/lander'
const BUNDLE = '/lander-submit-bundle'
const BATCH = '/lander-submit-batch'
const JSON_TYPE = { 'content-type': 'application/json' }
const BYTES_TYPE = { 'content-type': 'application/octet-stream' }
const OK = '{"jsonrpc":"2.0","result":"ok","id":1}'
/** Where the lander has what each route is for. */
const PATHS: Readonly<Record<string, string>> = {
  [SINGLE]: '/send',
  [BUNDLE]: '/sendBundle',
  [BATCH]: '/sendBatch',
}

type Options = Partial<LanderSection>

/** An edge before an upstream that does what a script says. */
const open = async (
  t: Test,
  script: Script = s => s.write(answer(OK)),
  { upstream, ...options }: Options = {},
) => {
  const raw = await openRawUpstream(t, script)
  const edge = await openSubmissionEdge(t, {
    upstream: { urls: [raw.url], ...upstream },
    tipAddresses: TIPS.slice(0, 10),
    serviceTipAddresses: TIPS.slice(10),
    ...options,
  })
  const { token } = edge
  const post = (route: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
    edge.post(`/${token}${route}`, body, {
      ...(route === BATCH ? BYTES_TYPE : JSON_TYPE),
      ...headers,
    })
  return { raw, edge, token, post }
}

const call = (method: string, params: unknown, id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
const single = (transaction: Uint8Array | string, ...more: unknown[]): string =>
  call('sendTransaction', [
    typeof transaction === 'string' ? transaction : base64(transaction),
    ...more,
  ])
const bundle = (transactions: readonly Uint8Array[], ...more: unknown[]): string =>
  call('sendBundle', [transactions.map(base64), ...more])

const GOOD = tipping([FLOOR, 0])
const BODIES: readonly [route: string, body: string | Uint8Array][] = [
  [SINGLE, single(GOOD, { encoding: 'base64' })],
  [BUNDLE, bundle([GOOD], { encoding: 'base64' })],
  [BATCH, frame(GOOD)],
]

const findingsOf = ({ headers }: HttpAnswer): string => String(headers['x-lander-findings'] ?? '')

t.test('what was forwarded is answered after a revocation, nothing more is', async t => {
  let answerNow = (): void => {}
  const { raw, edge, token, post } = await open(
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
  const { raw, edge, token } = await open(t)
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
  const { edge, token, raw } = await open(t)
  const cases: [method: string, path: string, status: number][] = [
    ['GET', `/${token}/lander`, 405],
    ['PUT', '/lander', 405],
    ['OPTIONS', `/${token}/lander`, 204],
    ['POST', `/${token}/lander/`, 404],
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
  const { edge, token, raw } = await open(t)
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

t.test('the body goes on byte for byte, and nothing else of the client does', async t => {
  const { raw, post } = await open(t)
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
      'connection: keep-alive',
      `content-length: ${Buffer.byteLength(body)}`,
      `content-type: ${route === BATCH ? 'application/octet-stream' : 'application/json'}`,
      `host: 127.0.0.1:${raw.port}`,
      `x-api-key: ${LANDER_CREDENTIAL}`,
    ])
  }
})

t.test('what belongs to one connection stays on it', async t => {
  const { raw, edge, token } = await open(t)
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
    'connection',
    'content-length',
    'content-type',
    'host',
    'x-api-key',
  ])
})

t.test('a body in chunks goes on as one', async t => {
  const { raw, edge, token } = await open(t)
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
      'connection: keep-alive',
      `content-length: ${bytes.length}`,
      `content-type: ${type}`,
      `host: 127.0.0.1:${raw.port}`,
      `x-api-key: ${LANDER_CREDENTIAL}`,
    ])
  }
})

t.test('the credential may go in the query, in the place of what the client has there', async t => {
  const upstream = { credentialIn: 'query', credentialName: 'api-key' }
  const { raw, edge, token } = await open(t, undefined, { upstream })
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
    ['blocked', '403 Forbidden', 'text/plain', 'transaction contains blocked arb program', []],
    ['a page', '429 Too Many', 'text/html', '<html>ä</html>', ['Retry-After: 2']],
    ['nothing', '503 Service Unavailable', '', '', []],
    ['nothing at all', '204 No Content', '', '', []],
    ['another place', '302 Found', 'text/plain', 'elsewhere', []],
    ['who are you', '401 Unauthorized', 'text/plain', 'invalid api key', []],
    ['no type', '200 OK', '', 'x', []],
    ['bytes', '200 OK', 'application/octet-stream', Buffer.of(0, 255, 13, 10, 128), []],
    ['compressed', '200 OK', 'text/plain', Buffer.of(31, 139, 8), ['Content-Encoding: gzip']],
    ['a status that nobody knows', '299 Odd', 'text/plain', 'odd', []],
    ['600 KB', '200 OK', 'text/plain', 'x'.repeat(600_000), []],
  ]
  let now: Buffer = Buffer.alloc(0)
  const { post } = await open(t, s => s.write(now))
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

const failure = (code: number, message: string, id: unknown = 1, data?: string): string =>
  JSON.stringify({ jsonrpc: '2.0', error: { code, message, ...(data && { data }) }, id })
const INVALID = failure(-32600, 'Invalid request')
const INVALID_NULL = failure(-32600, 'Invalid request', null)
const PARSE = failure(-32700, 'Parse error', null)
const NOT_FOUND = failure(-32601, 'Method not found')
const notBase64 = (index: number): string =>
  failure(-32602, `transaction ${index} is not canonical padded base64`)
const tooLarge = (index: number): string =>
  failure(-32602, `transaction ${index} exceeds 4096 bytes`)

t.test('calls that are answered here, and their neighbours that are not', async t => {
  const { raw, post, edge } = await open(t)
  const text = base64(GOOD)
  // 400 bytes end in two pads: the last digit has four bits to spare.
  const padded = base64(sized(400))
  const spare = padded.replace(/.==$/, 'B==')
  const times = (count: number): Buffer[] => Array<Buffer>(count).fill(GOOD)
  const raw4096 = Buffer.alloc(4096, 1)
  const raw4097 = Buffer.alloc(4097, 1)
  const cases: [name: string, route: string, body: string | Buffer, reply: string | undefined][] = [
    ['one transaction', SINGLE, single(GOOD), undefined],
    ['no JSON', SINGLE, '{', PARSE],
    ['an empty body', SINGLE, '', PARSE],
    ['a number', SINGLE, '1', PARSE],
    ['bytes that are no text', SINGLE, Buffer.from('{"a":"\xff"}', 'latin1'), PARSE],
    ['a byte order mark', SINGLE, `\ufeff${single(GOOD)}`, PARSE],
    ['an array', SINGLE, `[${single(GOOD)}]`, INVALID_NULL],
    ['an array behind a blank', SINGLE, ` [${single(GOOD)}]`, INVALID_NULL],
    ['an array of many', SINGLE, `[${Array(200).fill('{"id":1}').join()}]`, INVALID_NULL],
    ['an empty array', SINGLE, '[]', INVALID_NULL],
    ['an array of numbers', SINGLE, '[1,2]', INVALID_NULL],
    ['an array that does not end', SINGLE, '[', PARSE],
    [
      'no id',
      SINGLE,
      `{"jsonrpc":"2.0","method":"sendTransaction","params":["${text}"]}`,
      INVALID_NULL,
    ],
    ['an id that is an object', SINGLE, call('sendTransaction', [text], {}), PARSE],
    ['no method', SINGLE, `{"jsonrpc":"2.0","id":1,"params":["${text}"]}`, INVALID],
    ['another version', SINGLE, single(GOOD).replace('2.0', '1.0'), INVALID],
    [
      'no version',
      SINGLE,
      `{"id":1,"method":"sendTransaction","params":["${text}"]}`,
      failure(-32600, 'Unsupported JSON-RPC protocol version'),
    ],
    ['a member too many', SINGLE, single(GOOD).replace('{', '{"a":1,'), INVALID],
    ['a method twice', SINGLE, single(GOOD).replace('{', '{"method":"getBalance",'), INVALID],
    ['params twice', SINGLE, single(GOOD).replace('{', '{"params":[],'), INVALID],
    ['an id twice', SINGLE, single(GOOD).replace('{', '{"\\u0069d":2,'), INVALID],
    ['another method', SINGLE, call('getBalance', [text]), NOT_FOUND],
    ['the method of the other route', SINGLE, bundle([GOOD]), NOT_FOUND],
    ['the method of the other route', BUNDLE, single(GOOD), NOT_FOUND],
    ['the method in other letters', SINGLE, call('SendTransaction', [text]), NOT_FOUND],
    [
      'no params',
      SINGLE,
      '{"jsonrpc":"2.0","id":1,"method":"sendTransaction"}',
      failure(-32602, 'Missing param at index 0'),
    ],
    [
      'params that are null',
      SINGLE,
      call('sendTransaction', null),
      failure(-32602, 'Missing param at index 0'),
    ],
    [
      'empty params',
      SINGLE,
      call('sendTransaction', []),
      failure(-32602, 'Missing param at index 0'),
    ],
    [
      'params by name',
      SINGLE,
      call('sendTransaction', { a: 1 }),
      failure(-32602, '`params` should be an array'),
    ],
    [
      'two transactions',
      SINGLE,
      single(GOOD, text),
      failure(
        -32602,
        `Invalid param at index 1: invalid type: string "${text.slice(0, 128)}…", expected a map`,
      ),
    ],
    [
      'a third parameter',
      SINGLE,
      single(GOOD, {}, {}),
      failure(-32602, 'Invalid parameters: Expected from 1 to 2 parameters.', 1, '"Got: 3"'),
    ],
    [
      'a list on the route for one',
      SINGLE,
      call('sendTransaction', [[text]]),
      failure(-32602, 'Invalid param at index 0: invalid type: sequence, expected a string'),
    ],
    [
      'a number',
      SINGLE,
      call('sendTransaction', [7]),
      failure(-32602, 'Invalid param at index 0: invalid type: integer `7`, expected a string'),
    ],
    [
      'another encoding',
      SINGLE,
      single(GOOD, { encoding: 'base58' }),
      failure(-32602, 'unsupported encoding: base58'),
    ],
    [
      'an encoding that is a number',
      SINGLE,
      single(GOOD, { encoding: 64 }),
      failure(-32602, 'unsupported encoding: 64'),
    ],
    ['an encoding that is null', SINGLE, single(GOOD, { encoding: null }), undefined],
    ['pads', SINGLE, single(padded), undefined],
    ['bits to spare', SINGLE, single(spare), notBase64(0)],
    ['no pads', SINGLE, single(padded.slice(0, -2)), notBase64(0)],
    ['one pad too few', SINGLE, single(padded.slice(0, -1)), notBase64(0)],
    ['a pad too many', SINGLE, single(`${padded}=`), notBase64(0)],
    ['three pads', SINGLE, single(`${padded.slice(0, -3)}===`), notBase64(0)],
    ['a pad inside', SINGLE, single(`AA==${padded}`), notBase64(0)],
    ['the alphabet of URLs', SINGLE, single(`${'-_'.repeat(2)}${text}`), notBase64(0)],
    ['a blank', SINGLE, single(` ${text.slice(1)}`), notBase64(0)],
    ['a line break behind', SINGLE, single(`${text}\n`), notBase64(0)],
    ['a letter beyond ASCII', SINGLE, single(`${text.slice(0, -4)}Āaaa`), notBase64(0)],
    ['4,096 bytes', SINGLE, single(raw4096), undefined],
    ['4,097 bytes', SINGLE, single(raw4097), tooLarge(0)],
    ['a megabyte that is no base64', SINGLE, single('-'.repeat(40_000)), tooLarge(0)],

    ['one', BUNDLE, bundle(times(1)), undefined],
    ['four', BUNDLE, bundle(times(4)), undefined],
    ['five', BUNDLE, bundle(times(5)), failure(-32602, 'sendBundle transaction count exceeds 4')],
    ['none', BUNDLE, bundle([]), failure(-32602, 'sendBundle holds no transaction')],
    [
      'a text on the route for many',
      BUNDLE,
      call('sendBundle', [text]),
      failure(
        -32602,
        `Invalid param at index 0: invalid type: string "${text.slice(0, 128)}…", expected a sequence`,
      ),
    ],
    [
      'a number among them',
      BUNDLE,
      call('sendBundle', [[text, 7]]),
      failure(-32602, 'Invalid param at index 0: invalid type: integer `7`, expected a string'),
    ],
    [
      'a broken one among them',
      BUNDLE,
      call('sendBundle', [[text, text, `${text}=`]]),
      notBase64(2),
    ],
    ['four of 4,096 bytes', BUNDLE, bundle(Array<Buffer>(4).fill(raw4096)), undefined],
    ['a byte more in the last', BUNDLE, bundle([raw4096, raw4096, raw4096, raw4097]), tooLarge(3)],
    [
      'another encoding',
      BUNDLE,
      bundle(times(1), { encoding: 'base58' }),
      failure(-32602, 'unsupported encoding: base58'),
    ],
    [
      'options that are a text',
      BUNDLE,
      bundle(times(1), 'base64'),
      failure(-32602, 'Invalid param at index 1: invalid type: string "base64", expected a map'),
    ],
    ['no params', BUNDLE, call('sendBundle', []), failure(-32602, 'Missing param at index 0')],
  ]
  for (const [name, route, body, reply] of cases) {
    raw.received.length = 0
    const got = await post(route, body)
    t.equal(got.status, 200, `${route}: ${name}`)
    t.equal(got.text, reply ?? OK)
    t.equal(raw.received.length, reply === undefined ? 1 : 0, 'forwarded or not')
    if (reply !== undefined) t.equal(findingsOf(got), '')
  }
  const over = await post(SINGLE, ' '.repeat(64 * 1024 + 1))
  t.match(over, { status: 413, text: '{"error":{"message":"Body exceeds 65536 bytes"}}' })
  t.match(await post(SINGLE, single(GOOD) + ' '.repeat(60_000)), { status: 200 })
  const page = await edge.metrics()
  const series = 'slotline_submissions_total{process="edge 0",network="main",route'
  t.match(page, `${series}="/lander",outcome="transactionBase64"} 10`)
  t.match(page, `${series}="/lander-submit-bundle",outcome="bundleTooLong"} 1`)
})

t.test('batches that are answered here, and their neighbours that are not', async t => {
  const { raw, post, edge } = await open(t)
  const record = (byteCount: number): Buffer => Buffer.alloc(byteCount, 1)
  const sixteen = Array<Buffer>(16).fill(record(66))
  const largest = frame(...Array<Buffer>(16).fill(record(1232)))
  t.equal(largest.length, 19_744)
  type Case = [name: string, body: Buffer, count: number, problem: string | undefined]
  const cases: Case[] = [
    ['one of the least size', frame(record(66)), 1, undefined],
    ['one below it', frame(record(65)), 0, 'record 0 at offset 0: length 65 is below 66'],
    ['one of the largest size', frame(record(1232)), 1, undefined],
    ['one above it', frame(record(1233)), 0, 'record 0 at offset 0: length 1233 is above 1232'],
    [
      'a wrong one behind a good one',
      frame(record(66), record(65)),
      1,
      'record 1 at offset 68: length 65 is below 66',
    ],
    ['nothing', Buffer.alloc(0), 0, 'record 0 at offset 0: the body is empty'],
    ['a length of zero', Buffer.of(0, 0), 0, 'record 0 at offset 0: length 0 is below 66'],
    ['half a length', Buffer.of(0), 0, 'record 0 at offset 0: truncated length'],
    [
      'half a length behind a record',
      Buffer.concat([frame(record(66)), Buffer.of(0)]),
      1,
      'record 1 at offset 68: truncated length',
    ],
    [
      'a byte too few',
      frame(record(66)).subarray(0, -1),
      0,
      'record 0 at offset 0: truncated record: 65 of 66 bytes',
    ],
    [
      'no byte of a record',
      Buffer.of(0, 66),
      0,
      'record 0 at offset 0: truncated record: 0 of 66 bytes',
    ],
    [
      'the other byte order',
      Buffer.concat([Buffer.of(66, 0), record(66)]),
      0,
      'record 0 at offset 0: length 16896 is above 1232',
    ],
    ['sixteen', frame(...sixteen), 16, undefined],
    [
      'seventeen',
      frame(...sixteen, record(66)),
      16,
      'record 16 at offset 1088: a batch holds at most 16 records',
    ],
    [
      'a byte behind sixteen',
      Buffer.concat([frame(...sixteen), Buffer.of(1)]),
      16,
      'record 16 at offset 1088: 1 trailing byte',
    ],
    ['sixteen of the largest', largest, 16, undefined],
    [
      'seventeen of the largest',
      frame(...Array<Buffer>(17).fill(record(1232))),
      16,
      'record 16 at offset 19744: a batch holds at most 16 records',
    ],
  ]
  for (const [name, body, count, problem] of cases) {
    raw.received.length = 0
    const got = await post(BATCH, body)
    if (problem === undefined) {
      t.match(got, { status: 200, text: OK }, name)
      t.strictSame(raw.received[0]?.body, body)
      continue
    }
    t.equal(got.status, 400, name)
    t.equal(got.headers['content-type'], 'application/json')
    t.equal(
      got.text,
      JSON.stringify({ attempted: count, accepted: 0, rejected: count, parse_error: problem }),
    )
    t.equal(raw.received.length, 0, 'nothing is forwarded')
  }
  const page = await edge.metrics()
  const faulty = cases.filter(([, , , problem]) => problem !== undefined).length
  t.match(page, `route="/lander-submit-batch",outcome="framing"} ${faulty}\n`)
  t.match(page, `route="/lander-submit-batch",outcome="forwarded"} ${cases.length - faulty}\n`)
})

t.test('findings travel beside the answer', async t => {
  const { post, edge } = await open(t)
  const half = FLOOR / 2n
  const good = tipping([FLOOR, 0])
  const poor = tipping([FLOOR - 1n, 0])
  const none = tipping()
  const junk = Buffer.alloc(100, 1)
  const long = Buffer.concat([good, Buffer.of(0)])
  const cases: [name: string, route: string, transactions: Buffer[], findings: string][] = [
    ['a tip at the floor', SINGLE, [good], ''],
    ['a tip to the last of the lander', SINGLE, [tipping([FLOOR, 9])], ''],
    ['a tip to the service', SINGLE, [tipping([FLOOR, 10])], ''],
    ['a tip to the last of the service', SINGLE, [tipping([FLOOR, 14])], ''],
    ['a tip in two halves to both', SINGLE, [tipping([half, 0], [half, 14])], ''],
    ['a lamport too little', SINGLE, [poor], '0:tip'],
    ['halves that are a lamport too little', SINGLE, [tipping([half, 0], [half - 1n, 1])], '0:tip'],
    ['no tip', SINGLE, [none], '0:tip'],
    ['a wrong signature', SINGLE, [forged(good)], '0:signature'],
    ['a wrong signature and no tip', SINGLE, [forged(none)], '0:signature,tip'],
    ['no transaction', SINGLE, [junk], '0:structure'],
    ['bytes behind it', SINGLE, [long], '0:structure'],
    ['of the largest size', SINGLE, [sized(1232)], ''],
    ['a byte larger', SINGLE, [sized(1233)], '0:structure'],

    ['one tip in the middle', BUNDLE, [none, good, none], ''],
    ['a tip in parts of two', BUNDLE, [tipping([half, 0]), tipping([half, 0])], 'bundle:tip'],
    ['a lamport too little in each', BUNDLE, [poor, tipping([FLOOR - 1n, 1])], 'bundle:tip'],
    ['no tip at all', BUNDLE, [none], 'bundle:tip'],
    ['wrong signatures', BUNDLE, [forged(good), none, forged(none)], '0:signature;2:signature'],
    ['all kinds', BUNDLE, [forged(none), none], '0:signature;bundle:tip'],
    ['one that cannot be read', BUNDLE, [none, junk], '1:structure'],

    ['all with tips', BATCH, [good, tipping([FLOOR, 3])], ''],
    ['one without', BATCH, [good, none, tipping([FLOOR, 3])], '1:tip'],
    [
      'sixteen, half of them wrong',
      BATCH,
      Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? tipping([FLOOR, 0]) : none)),
      '1:tip;3:tip;5:tip;7:tip;9:tip;11:tip;13:tip;15:tip',
    ],
    ['all kinds', BATCH, [junk, forged(none), good, poor], '0:structure;1:signature,tip;3:tip'],
  ]
  for (const [name, route, transactions, findings] of cases) {
    const [first = Buffer.alloc(0)] = transactions
    const body =
      route === BATCH
        ? frame(...transactions)
        : route === BUNDLE
          ? bundle(transactions)
          : single(first)
    const reply = await post(route, body)
    t.equal(reply.status, 200, `${route}: ${name}`)
    t.equal(findingsOf(reply), findings)
  }
  const page = await edge.metrics()
  const series = 'slotline_lander_findings_total{process="edge 0",network="main",route'
  t.match(page, `${series}="/lander",kind="tip"} 4`)
  t.match(page, `${series}="/lander",kind="structure"} 3`)
  t.match(page, `${series}="/lander-submit-bundle",kind="signature"} 3`)
  t.match(page, `${series}="/lander-submit-batch",kind="tip"} 11`)
})

t.test('enforced, a finding is an error and nothing is forwarded', async t => {
  const { raw, post, edge } = await open(t, undefined, { enforce: true })
  const half = FLOOR / 2n
  const good = tipping([FLOOR, 0])
  const poor = tipping([FLOOR - 1n, 0])
  const none = tipping()
  const junk = Buffer.alloc(100, 1)
  const missing = 'Missing tip: no transfer to tip accounts found'
  const insufficient = (lamports: bigint): string =>
    `Insufficient tip: provided ${lamports} lamports, required 1000000 lamports`
  const unsigned = (index: number): string => `transaction ${index} signature verification failure`
  const layout = 'transaction 0 is malformed: ends at byte 100 inside the account keys'
  const cases: [name: string, route: string, transactions: Buffer[], error: string | undefined][] =
    [
      ['a tip at the floor', SINGLE, [good], undefined],
      ['a lamport more', SINGLE, [tipping([FLOOR + 1n, 14])], undefined],
      ['a lamport too little', SINGLE, [poor], insufficient(FLOOR - 1n)],
      ['one lamport', SINGLE, [tipping([1n, 0])], insufficient(1n)],
      ['none', SINGLE, [none], missing],
      ['a wrong signature', SINGLE, [forged(good)], unsigned(0)],
      ['a wrong signature and no tip', SINGLE, [forged(none)], unsigned(0)],
      ['no transaction', SINGLE, [junk], layout],
      [
        'a version-0 size',
        SINGLE,
        [sized(1233)],
        'transaction 0 is malformed: 1233 bytes, at most 1232',
      ],

      ['one pays', BUNDLE, [none, good, none, none], undefined],
      [
        'none pays enough',
        BUNDLE,
        [tipping([half, 0]), tipping([half + 1n, 0])],
        insufficient(half + 1n),
      ],
      ['none pays', BUNDLE, [none, none], missing],
      ['the third is forged', BUNDLE, [good, none, forged(none)], unsigned(2)],

      ['each pays', BATCH, [good, tipping([FLOOR, 11])], undefined],
      ['the second does not', BATCH, [good, none, poor], `record 1: ${missing}`],
      [
        'the third pays too little',
        BATCH,
        [good, tipping([FLOOR, 1]), poor],
        `record 2: ${insufficient(FLOOR - 1n)}`,
      ],
      [
        'structure before signature before tip',
        BATCH,
        [none, forged(good), junk],
        'transaction 2 is malformed: ends at byte 100 inside the account keys',
      ],
    ]
  for (const [name, route, transactions, error] of cases) {
    raw.received.length = 0
    const [first = Buffer.alloc(0)] = transactions
    const count = transactions.length
    const body =
      route === BATCH
        ? frame(...transactions)
        : route === BUNDLE
          ? bundle(transactions)
          : single(first)
    const reply = await post(route, body)
    const batch = { attempted: count, accepted: 0, rejected: count, parse_error: error }
    const wanted = route === BATCH ? JSON.stringify(batch) : failure(-32602, error ?? '')
    t.equal(reply.text, error === undefined ? OK : wanted, `${route}: ${name}`)
    t.equal(reply.status, route === BATCH && error !== undefined ? 400 : 200)
    t.equal(raw.received.length, error === undefined ? 1 : 0)
    if (error === undefined) t.strictSame(raw.received[0]?.body, Buffer.from(body))
    t.equal(findingsOf(reply), '')
  }
  t.match(await edge.metrics(), 'route="/lander",outcome="tipInsufficient"} 2')
})

t.test('when the lander fails', async t => {
  const UNREACHABLE = 'upstream unreachable'
  const UNKNOWN = 'submission outcome unknown'
  const cases: [name: string, script: Script, status: number, message: string][] = [
    ['it does not answer', () => {}, 504, UNKNOWN],
    ['it resets', s => s.resetAndDestroy(), 504, UNKNOWN],
    ['it closes', s => s.end(), 504, UNKNOWN],
    [
      'it resets in its answer',
      s => s.write(answer('abc').subarray(0, -1), () => s.resetAndDestroy()),
      504,
      UNKNOWN,
    ],
    ['it drips', s => void setInterval(() => s.write('H'), 20).unref(), 504, UNKNOWN],
    ['it speaks no HTTP', s => s.write('220 mail.example ESMTP\r\n'), 504, UNKNOWN],
    ['it sends 10 MB', s => s.write(answer(Buffer.alloc(10 * 1024 ** 2))), 504, UNKNOWN],
  ]
  for (const [name, script, status, message] of cases)
    t.test(name, async t => {
      const { raw, post, edge } = await open(t, script, { upstream: { answerMs: 300 } })
      for (const [route, body] of BODIES) {
        raw.received.length = 0
        const startMs = performance.now()
        const reply = await post(route, body)
        t.equal(reply.status, status)
        t.equal(reply.text, failure(-32603, message, route === BATCH ? null : 1))
        t.match(reply.headers['content-type'], /^application\/json/)
        t.ok(performance.now() - startMs < 3_000, 'in time')
        t.equal(raw.received.length, 1, 'sent once')
      }
      t.notMatch(edge.lines.join(), LANDER_CREDENTIAL)
    })

  t.test('nobody listens', async t => {
    const urls = [`http://127.0.0.1:${await refusedPort()}`]
    const { post } = await open(t, undefined, { upstream: { urls } })
    for (const [route, body] of BODIES) {
      const reply = await post(route, body)
      t.equal(reply.status, 502)
      t.equal(reply.text, failure(-32603, UNREACHABLE, route === BATCH ? null : 1))
      t.equal(findingsOf(reply), '')
    }
  })

  t.test('nobody listens at the first URL', async t => {
    const good = await openRawUpstream(t, s => s.write(answer(OK)))
    const urls = [`http://127.0.0.1:${await refusedPort()}`, good.url]
    const { post } = await open(t, undefined, { upstream: { urls } })
    for (const [route, body] of BODIES) t.match(await post(route, body), { status: 200, text: OK })
    t.equal(good.received.length, 3)
  })

  t.test('more are under way than may be', async t => {
    const held: net.Socket[] = []
    const { post, raw } = await open(t, s => held.push(s), { upstream: { inFlightMax: 1 } })
    const first = post(SINGLE, single(GOOD))
    await until('it is under way', () => held.length === 1)
    for (const [route, body] of BODIES) {
      const reply = await post(route, body)
      t.equal(reply.status, 503)
      t.equal(reply.headers['retry-after'], '1')
      const message = 'Too many submissions in flight; retry with backoff'
      t.equal(reply.text, failure(-32603, message, route === BATCH ? null : 1))
    }
    held[0]?.write(answer(OK))
    t.match(await first, { status: 200 })
    t.equal(raw.received.length, 1)
  })
})

t.test('nothing hangs: by default a connection has one second, and an answer five', async t => {
  const lost = await open(t, undefined, {
    upstream: { urls: [`http://127.0.0.1:${await blackholePort(t)}`] },
  })
  const silent = await open(t, () => {})
  const timed = async (sent: Promise<HttpAnswer>): Promise<[status: number, elapsedMs: number]> => {
    const startMs = performance.now()
    const { status } = await sent
    return [status, performance.now() - startMs]
  }
  const cases = [
    [lost, 502, 1_000],
    [silent, 504, 5_000],
  ] as const
  await Promise.all(
    cases.flatMap(([{ post }, wanted, afterMs]) =>
      BODIES.map(async ([route, body]) => {
        const [status, elapsedMs] = await timed(post(route, body))
        t.equal(status, wanted, route)
        t.ok(elapsedMs > afterMs - 10 && elapsedMs < afterMs + 900, `${elapsedMs} ms`)
      }),
    ),
  )
})

t.test('the answer keeps the id as it came', async t => {
  const { post } = await open(t, s => s.destroy())
  for (const id of ['"c9bf9e57-1685"', '18446744073709551616', '1.50', 'null', '"ä\\n\\u0000"'])
    t.match(await post(SINGLE, single(GOOD).replace('"id":1', `"id":${id}`)), {
      status: 504,
      text: `{"jsonrpc":"2.0","error":{"code":-32603,"message":"submission outcome unknown"},"id":${id}}`,
    })
})

t.test('what is sent behind a submission that is under way is not forwarded', async t => {
  const held: net.Socket[] = []
  const { raw, edge, token } = await open(t, s => held.push(s))
  const bodyOf = (id: number): string => single(GOOD).replace('"id":1', `"id":${id}`)
  const lines = ['Content-Type: application/json']
  const client = await connect(edge.port)
  for (const id of [1, 2]) client.socket.write(toPost(`/${token}${SINGLE}`, bodyOf(id), lines))
  await client.closed
  t.equal(client.received(), '', 'neither is answered')
  for (const socket of held) socket.write(answer(OK))
  await until('the first has ended', async () =>
    /upstream_in_flight\{[^}]*\} 0/.test(await edge.metrics()),
  )
  t.ok(raw.received.length <= 1)
  t.ok(raw.received.every(({ body }) => body.equals(Buffer.from(bodyOf(1)))))
  const next = edge.post(`/${token}${SINGLE}`, bodyOf(3), JSON_TYPE)
  await until('the next one comes', () => raw.received.some(({ body }) => body.includes('"id":3')))
  held.at(-1)?.write(answer(OK))
  t.match(await next, { status: 200 })
})

t.test('a client that leaves changes nothing for the lander', async t => {
  const held: net.Socket[] = []
  const { raw, edge, token, post } = await open(t, s => held.push(s))
  const lines = (type: string): string[] => [`Content-Type: ${type}`]
  const bytes = frame(GOOD).toString('latin1')
  const requests = [
    toPost(`/${token}${SINGLE}`, single(GOOD), lines('application/json')),
    toPost(`/${token}${BATCH}`, bytes, lines('application/octet-stream')),
  ]
  for (const [index, request] of requests.entries()) {
    const client = await connect(edge.port)
    client.socket.write(request, 'latin1')
    await until('it is forwarded', () => held.length === index + 1)
    client.socket.resetAndDestroy()
  }
  const page = (): Promise<string> => edge.metrics()
  t.match(await page(), /slotline_upstream_in_flight\{[^}]*\} 2/)
  for (const socket of held.splice(0)) socket.write(answer(OK))
  await until('both have ended', async () => /upstream_in_flight\{[^}]*\} 0/.test(await page()))
  t.match(await page(), /slotline_submissions_total\{[^}]*"\/lander",outcome="forwarded"\} 1/)

  // Gone before it was read: there is nobody to answer, and nothing to send.
  const cut = await connect(edge.port)
  cut.socket.write(requests[0]?.slice(0, -10) ?? '', 'latin1')
  cut.socket.destroy()
  const last = post(SINGLE, single(GOOD))
  await until('only the next one comes', () => held.length === 1)
  held[0]?.write(answer(OK))
  t.match(await last, { status: 200 })
  t.equal(raw.received.length, 3)
})

const never = (): never => {
  throw new Error('not to be called')
}

/** `/lander` on a server of its own, over checks that are not the kernel's. */
const openOver = async (
  t: Test,
  checkBundle: TransactionChecks['checkBundle'],
  { recheck = () => undefined, ...options }: Partial<LanderOptions> & { recheck?: Recheck },
) => {
  const raw = await openRawUpstream(t, s => s.write(answer(OK)))
  const upstream = await openUpstream(
    { ...upstreamDefaults, pingPath: '', urls: [raw.url] },
    { log: createLog('test', () => {}), now: () => performance.now() },
  )
  t.teardown(() => upstream.close())
  const findings: string[] = []
  const outcomes: string[] = []
  const lander = createLander(
    { ...defaults, ...options },
    {
      upstream,
      checks: {
        frameBatch: never,
        checkBatch: never,
        checkBundle,
        beginBundle: never,
        announce: never,
        foresee: never,
        stats: never,
      },
      meter: {
        onEnd: (_route, outcome) => void outcomes.push(outcome),
        onFinding: (_route, kind) => void findings.push(kind),
      },
      now: () => performance.now(),
      nestingMax: 127,
    },
  )
  const { port } = await openTestServer(t, [
    {
      pattern: '/lander',
      bodyBytesMax: 10_000,
      handle: (_, body) => lander.submit('/lander', body, recheck),
    },
  ])
  const send = async () => {
    const url = `http://127.0.0.1:${port}/lander`
    const response = await fetch(url, { method: 'POST', body: single(GOOD) })
    return {
      status: response.status,
      text: await response.text(),
      findings: response.headers.get('x-lander-findings'),
    }
  }
  return { raw, send, findings, outcomes }
}

t.test('checks that are late or fail never hold up an answer', async t => {
  const cases: [name: string, checkBundle: TransactionChecks['checkBundle']][] = [
    ['late', () => new Promise(() => {})],
    ['refused', () => Promise.reject(new RpcError('checksOverloaded'))],
    ['broken', never],
  ]
  for (const [name, checkBundle] of cases) {
    const { send, findings, outcomes } = await openOver(t, checkBundle, { findingsWaitMs: 30 })
    t.strictSame(await send(), { status: 200, text: OK, findings: 'unchecked' }, name)
    t.strictSame(findings, ['unchecked'])
    t.strictSame(outcomes, ['forwarded'])
  }
})

t.test('an answer waits for no finding by default, and the finding counts later', async t => {
  const malformed: Verdict = {
    members: [
      {
        start: 0,
        byteLength: 0,
        problem: 'spoiled',
        signature: undefined,
        isSigned: undefined,
        tips: [0n],
        hasApplication: false,
        qualifies: false,
      },
    ],
    duplicate: undefined,
    bundleId: undefined,
  }
  let release = (_verdict: Verdict): void => {}
  const checked = new Promise<Verdict>(resolve => (release = resolve))
  const { send, findings } = await openOver(t, () => checked, {})
  t.strictSame(await send(), { status: 200, text: OK, findings: 'unchecked' })
  t.strictSame(findings, ['unchecked'])
  release(malformed)
  await until('the finding is counted', () => findings.length === 2)
  t.strictSame(findings, ['unchecked', 'structure'])

  const { send: sendKnown } = await openOver(t, () => Promise.resolve(malformed), {})
  t.match(await sendKnown(), { findings: '0:structure' }, 'what is known by then is told')
})

t.test('enforced, what cannot be checked is not forwarded', async t => {
  const fine: Verdict = { members: [], duplicate: undefined, bundleId: undefined }
  const gone = { status: 401, contentType: 'text/plain', body: 'gone' }
  const enforce = true

  const busy = await openOver(t, () => Promise.reject(new RpcError('checksOverloaded')), {
    enforce,
  })
  const message = 'Too many transaction checks in flight; retry with backoff'
  t.match(await busy.send(), { status: 503, text: failure(-32603, message) })
  t.strictSame(busy.outcomes, ['checksOverloaded'])
  t.equal(busy.raw.received.length, 0)

  const broken = await openOver(t, never, { enforce })
  t.match(await broken.send(), { status: 500 })
  t.equal(broken.raw.received.length, 0)

  let hasEnded = false
  const recheck = () => (hasEnded ? gone : undefined)
  const revoked = await openOver(
    t,
    async () => {
      // The token is revoked while the check runs.
      hasEnded = true
      return fine
    },
    { enforce, recheck },
  )
  t.match(await revoked.send(), { status: 401, text: 'gone' })
  t.strictSame(revoked.outcomes, ['refused'])
  t.equal(revoked.raw.received.length, 0)
})

/** Records of a batch by the words of spec §4.2. */
const isBatch = (body: Buffer): boolean => {
  let count = 0
  let at = 0
  while (at < body.length) {
    if (at + 2 > body.length) return false
    const length = body.readUInt16BE(at)
    at += 2 + length
    if (length < 66 || length > 1232 || at > body.length || ++count > 16) return false
  }
  return count > 0
}

t.test('of spoiled batches goes on what is still one', async t => {
  const { raw, post } = await open(t)
  const record = fc
    .oneof({ weight: 8, arbitrary: fc.integer({ min: 66, max: 1232 }) }, fc.constantFrom(65, 1233))
    .map(length => Buffer.alloc(length, length))
  const batch = fc
    .tuple(
      fc.array(record, { maxLength: 17 }).map(records => frame(...records)),
      fc.nat(70),
      fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(3)),
      fc.option(fc.tuple(fc.nat(300), fc.nat(255))),
    )
    .map(([whole, cut, more, flip]) => {
      const body = Buffer.concat([
        whole.subarray(0, whole.length - (cut < 60 ? 0 : cut)),
        Buffer.alloc(more),
      ])
      const [at = 0, value = 0] = flip ?? []
      if (flip !== null && at < body.length) body.writeUInt8(value, at)
      return body
    })
  await fc.assert(
    fc.asyncProperty(batch, async body => {
      raw.received.length = 0
      const reply = await post(BATCH, body)
      const isForwarded = raw.received.length === 1 && raw.received[0]?.body.equals(body)
      return isBatch(body)
        ? reply.status === 200 && isForwarded
        : reply.status === 400 && raw.received.length === 0
    }),
    { numRuns: 400 },
  )
})

t.test('of spoiled calls goes on what is still one', async t => {
  const { raw, post } = await open(t)
  const whole = single(GOOD, { encoding: 'base64' })
  const piece = fc.constantFrom(
    '',
    '"',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '=',
    'A',
    '\\u0041',
    '"id":2,',
    ' ',
    'null',
    '1',
  )
  const spoiled = fc
    .array(fc.tuple(fc.nat(whole.length), fc.nat(3), piece), { minLength: 1, maxLength: 3 })
    .map(edits =>
      edits.reduce((text, [at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut), whole),
    )
  await fc.assert(
    fc.asyncProperty(spoiled, async text => {
      raw.received.length = 0
      const reply = await post(SINGLE, text)
      if (raw.received.length === 0) return reply.status === 200 && reply.text.includes('"error"')
      const { id, method, params, ...rest } = JSON.parse(text)
      const [transaction, options] = params
      return (
        raw.received.length === 1 &&
        raw.received[0]?.body.toString() === text &&
        id !== undefined &&
        method === 'sendTransaction' &&
        Object.keys(rest).join() === 'jsonrpc' &&
        text.split('"id"').length === 2 &&
        params.length <= 2 &&
        Buffer.from(transaction, 'base64').toString('base64') === transaction &&
        (options?.encoding ?? 'base64') === 'base64'
      )
    }),
    { numRuns: 400 },
  )
})

type Fixture = { readonly tx: string; readonly expect: string; readonly reason?: string }

const folder = sharedPath('transactions')
t.test(
  'real transactions, and real ones with one thing wrong',
  { skip: folder === undefined && SHARED_ABSENT },
  async t => {
    const { post, raw } = await open(t)
    let seen = 0
    for (const file of readdirSync(folder ?? '')) {
      const {
        tx,
        expect,
        reason = '',
      }: Fixture = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8'))
      raw.received.length = 0
      const reply = await post(SINGLE, single(tx))
      if (/base64/.test(reason)) {
        t.match(reply.text, 'is not canonical padded base64', reason)
        t.equal(raw.received.length, 0)
        continue
      }
      seen++
      const own = findingsOf(reply).replace(/,?tip$/, '')
      const isSigning = /signature \d|signature zeroed|of R flipped|group order/
      const wanted =
        expect === 'valid'
          ? /^(0:)?$/
          : isSigning.test(reason)
            ? /^0:signature$/
            : // The bit that was flipped may be one of a length.
              /flipped$/.test(reason)
              ? /^0:(signature|structure)$/
              : /^0:structure$/
      t.match(own, wanted, `${file}: ${reason}`)
      t.equal(raw.received.length, 1)
    }
    t.ok(seen > 140)
  },
)

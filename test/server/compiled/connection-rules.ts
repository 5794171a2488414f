// What the specifications leave to be decided about connections, one row each:
// docs/decisions/0120-one-request-after-another.md explains them.
import t from 'tap'
import {
  connect,
  openTestServer,
  replyCount,
  splitReplies,
  text,
} from '../../fixtures/server/server.js'
import { openSocket } from '../../fixtures/server/socket.js'

const POST = 'POST /t HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n'
const NEXT = `${POST}\r\nn`
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'

type Row = readonly [
  rule: string,
  request: string,
  status: number,
  end: 'open' | 'closes',
  continues?: 'asked' | 'not asked',
]

const expecting = (value: string): string => `${POST}Expect: ${value}\r\n\r\n`
const connection = (...lines: string[]): string =>
  `${POST}${lines.map(line => `Connection: ${line}\r\n`).join('')}\r\nx`
const host = (value: string): string =>
  `POST /t HTTP/1.1\r\nHost: ${value}\r\nContent-Length: 1\r\n\r\nx`

const ROWS: readonly Row[] = [
  // RFC 9110, section 10.1.1
  ['Expect', expecting('100-continue'), 200, 'open', 'asked'],
  ['Expect in another case', expecting('100-Continue'), 200, 'open', 'asked'],
  ['Expect in a list', expecting('x, 100-CONTINUE'), 200, 'open', 'asked'],
  ['another expectation is ignored', `${expecting('200-ok')}x`, 200, 'open', 'not asked'],
  ['Expect with its body', `${expecting('100-continue')}x`, 200, 'open', 'not asked'],
  [
    'Expect of HTTP/1.0 is ignored',
    'POST /t HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\nx',
    200,
    'closes',
    'not asked',
  ],
  [
    'Expect of a refused request',
    'POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n',
    401,
    'closes',
    'not asked',
  ],
  // RFC 9110, sections 5.6.1 and 7.6.1; RFC 9112, section 9.6
  ['close', connection('close'), 200, 'closes'],
  ['close in another case', connection('Close'), 200, 'closes'],
  ['close in a list', connection('close, TE'), 200, 'closes'],
  ['close at the end of a list', connection('TE,\tclose '), 200, 'closes'],
  ['close on a second line', connection('TE', 'close'), 200, 'closes'],
  ['another token of five letters', connection('abcde'), 200, 'open'],
  ['a token that begins so', connection('closed, x-close'), 200, 'open'],
  ['keep-alive', connection('keep-alive'), 200, 'open'],
  // RFC 9112, section 2.2
  ['an empty line before a request', `\r\n${NEXT}`, 200, 'open'],
  ['empty lines before a request', `\r\n\r\n\r\n${NEXT}`, 200, 'open'],
  ['an empty line without CR', `\n${NEXT}`, 400, 'closes'],
  ['a CR without a line', `\r\r\n${NEXT}`, 400, 'closes'],
  // RFC 9112, section 3.2
  ['a host', host('rpc.example.com'), 200, 'open'],
  ['a host with a port', host('[2001:db8::1]:8899'), 200, 'open'],
  ['an empty host', host(''), 200, 'open'],
  ['a list of hosts', host('x, y'), 400, 'closes'],
  ['a host with a path', host('x/y'), 400, 'closes'],
  ['a host with a user', host('u@x'), 400, 'closes'],
  ['a host with a byte that is not ASCII', host('x\xe4x'), 400, 'closes'],
]

t.test('requests', async t => {
  const { port } = await openTestServer(t, [
    {},
    { pattern: '/refused', open: () => text('refused', 401) },
  ])
  for (const [rule, request, status, end, continues] of ROWS) {
    const client = await connect(port)
    client.socket.write(request, 'latin1')
    if (continues === 'asked') {
      t.equal(await client.until(now => now.length >= CONTINUE.length), CONTINUE, rule)
      client.socket.write('x')
    }
    const start = continues === 'asked' ? CONTINUE.length : 0
    await client.until(now => replyCount(now.slice(start)) === 1)
    client.socket.write(NEXT)
    const received = (await client.until(now => replyCount(now.slice(start)) === 2)).slice(start)
    const [reply, next] = splitReplies(received)
    t.equal(Number(reply?.head.slice(9, 12)), status, rule)
    const isOpen = end === 'open'
    t.equal(next !== undefined, isOpen, `${rule}: what follows is answered`)
    t.equal(/^Connection: close\r?$/m.test(reply?.head ?? ''), !isOpen, `${rule}: says so`)
    t.equal(/^Keep-Alive: timeout=75\r?$/m.test(reply?.head ?? ''), isOpen, `${rule}: keeps`)
    client.socket.destroy()
  }
})

t.test('frames of a client that are not masked end its WebSocket', async t => {
  // RFC 6455, section 5.1. Shorter than the head of a masked frame, and the head of a long one.
  const frames = [
    [0x81, 0],
    [0x81, 2, 104, 105],
    [0x89, 0],
    [0x81, 126, 1, 0],
    [0x82, 127],
  ]
  const messages: string[] = []
  const { port } = await openTestServer(t, [], {
    sockets: [
      {
        pattern: '/socket',
        frameBytesMax: 1_000,
        open: () => undefined,
        onOpen() {},
        onMessage: (_, __, message) => void messages.push(Buffer.from(message).toString()),
        onClose() {},
      },
    ],
  })
  for (const frame of frames) {
    const client = await openSocket(port, { path: '/socket' })
    client.socket.write(Buffer.from(frame))
    await client.closed
  }
  t.strictSame(messages, [])
})

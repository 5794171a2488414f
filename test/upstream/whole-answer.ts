import fc from 'fast-check'
import t from 'tap'
import { Client } from 'undici'
import { createReadWhole } from '../../src/upstream/whole-answer.js'
import { answer, openRawUpstream } from '../fixtures/submission/raw-upstream.js'

const lines = (...all: string[]): Buffer => Buffer.from(all.join('\r\n'), 'latin1')

t.test('answers in the usual form are read', t => {
  const read = createReadWhole()
  const types = ['Content-Type: first', 'Content-Type: b']
  const unusualHead = lines('HTTP/1.1 200 OK', 'A:', 'content-LENGTH:1', ...types, '', '')
  const cases: [name: string, bytes: Buffer, reply: object][] = [
    ['JSON', answer('{"a":1}'), { status: 200, contentType: 'application/json', body: '{"a":1}' }],
    [
      'what uWebSockets.js says',
      answer('x', { lines: ['content-type: a/b', 'Date: Sun', 'uWebSockets: 20'] }),
      { status: 200, contentType: 'a/b', body: 'x' },
    ],
    [
      'what nginx says',
      answer('x', { lines: ['Server: nginx', 'Content-Type: a/b', 'Connection: keep-alive'] }),
      { status: 200, contentType: 'a/b', body: 'x' },
    ],
    [
      'a refusal',
      answer('slow', { status: '429 Too Many Requests', lines: ['Retry-After: 1'] }),
      { status: 429, contentType: '', body: 'slow', headers: { 'retry-after': '1' } },
    ],
    ['an empty body', answer('', { lines: [] }), { status: 200, contentType: '', body: '' }],
    [
      'an empty value, and none before it',
      Buffer.concat([unusualHead, Buffer.from('x')]),
      { status: 200, contentType: 'first', body: 'x' },
    ],
    [
      'the same head with another body',
      Buffer.concat([unusualHead, Buffer.from('y')]),
      { status: 200, contentType: 'first', body: 'y' },
    ],
    [
      'an answer in a body',
      answer(answer('x'), { lines: [] }),
      { status: 200, contentType: '', body: answer('x').toString() },
    ],
  ]
  for (const [name, bytes, expected] of cases) {
    const reply = read(bytes)
    t.strictSame(
      reply && { ...reply, body: reply.body.toString() },
      { headers: undefined, ...expected },
      name,
    )
  }
  t.end()
})

t.test('any other is left to the HTTP client', t => {
  const read = createReadWhole()
  t.ok(read(answer('x')))
  const cases: [name: string, bytes: Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['half a head', lines('HTTP/1.1 200 OK', 'Content-Length: 1', '')],
    ['less than its body', answer('xy').subarray(0, -1)],
    ['more than its body', Buffer.concat([answer('x'), Buffer.from('y')])],
    ['two answers', Buffer.concat([answer('x'), answer('x')])],
    ['hints before it', Buffer.concat([lines('HTTP/1.1 103 Early', '', ''), answer('x')])],
    ['hints with a length', answer('x', { status: '103 Early' })],
    ['an end that the close tells', lines('HTTP/1.1 200 OK', 'A: b', '', 'x')],
    ['no lines', lines('HTTP/1.1 200 OK', '', '')],
    ['chunks', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '1', 'x', '0', '', '')],
    ['chunks and a length', answer('x', { lines: ['Transfer-Encoding: chunked'] })],
    ['two lengths', answer('x', { lines: ['Content-Length: 1'] })],
    ['a length that is none', lines('HTTP/1.1 200 OK', 'Content-Length: +1', '', 'x')],
    ['a length in hexadecimal', lines('HTTP/1.1 200 OK', 'Content-Length: 0x1', '', 'x')],
    ['an empty length', lines('HTTP/1.1 200 OK', 'Content-Length:', '', '')],
    ['two lengths in one', lines('HTTP/1.1 200 OK', 'Content-Length: 1, 1', '', 'x')],
    ['a status without a body', answer('x', { status: '204 No Content' })],
    ['another one', answer('x', { status: '304 Not Modified' })],
    ['a status beyond all', answer('x', { status: '600 Odd' })],
    ['a status of two digits', answer('x', { status: '20 Odd' })],
    ['no word for the status', lines('HTTP/1.1 200', 'Content-Length: 1', '', 'x')],
    ['HTTP/1.0', lines('HTTP/1.0 200 OK', 'Content-Length: 1', '', 'x')],
    ['other letters', lines('http/1.1 200 OK', 'Content-Length: 1', '', 'x')],
    ['an upgrade', answer('x', { lines: ['Upgrade: h2c'] })],
    ['a blank before the colon', answer('x', { lines: ['A : b'] })],
    ['a line that goes on', answer('x', { lines: ['A: b', ' c'] })],
    ['a tab', answer('x', { lines: ['A:\tb'] })],
    ['two blanks', answer('x', { lines: ['A:  b'] })],
    ['a blank at the end', answer('x', { lines: ['A: b '] })],
    ['a byte that is not ASCII', answer('x', { lines: ['A: é'] })],
    ['a name of another kind', answer('x', { lines: ['A(b): c'] })],
    ['a line feed alone', answer('x', { lines: ['A: b\nC: d'] })],
    ['a carriage return alone', answer('x', { lines: ['A: b\rC: d'] })],
    ['a long head', answer('x', { lines: [`A: ${'b'.repeat(2_048)}`] })],
  ]
  for (const [name, bytes] of cases) t.equal(read(bytes), undefined, name)
  t.ok(read(answer('x')), 'and none of it stays')
  t.end()
})

const USUAL_LINES = [
  'Content-Type: application/json',
  'content-type:text/plain; a=b',
  'Content-Type: ',
  'Connection: keep-alive',
  'Connection: close',
  'Connection: upgrade',
  'Keep-Alive: timeout=1',
  'Trailer: a',
  'Retry-After: 1',
  'Retry-After: 2',
  'Content-Encoding: gzip',
  '__proto__: x',
  'constructor: x',
]
const ODD_LINES = [
  'Content-Length: 3',
  'Content-Length:  3',
  'Content-Length: 03',
  'Content-Length: 3 ',
  'Content-Length: +3',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: identity',
  'Upgrade: x',
  'A: b\tc',
  'A : b',
  ' c',
  'é: ü',
  'A',
  ': b',
]
/** The first mostly, the others now and then. */
const mostly = <T>(usual: T, ...odd: T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, fc.constantFrom(...odd))
const line = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...USUAL_LINES) },
  fc.constantFrom(...ODD_LINES),
)
/** One byte of it is another one, or none is. */
const change = fc.option(fc.record({ at: fc.nat(200), byte: fc.nat(255) }), { freq: 2 })
const someAnswer = fc
  .record({
    change,
    version: mostly('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0'),
    status: mostly(200, 201, 204, 205, 299, 304, 400, 429, 503, 599, 600, 101, 103),
    word: mostly(' OK', ' ', '', ' Not  Quite: so', ' ü'),
    lines: fc.array(line, { maxLength: 4 }),
    length: mostly('Content-Length: 3', 'content-length:3', 'Content-Length: 2', ''),
    body: mostly('abc', 'ab', 'abcd', ''),
    end: mostly('\r\n', '\n', '\r'),
  })
  .map(({ change, version, status, word, lines, length, body, end }) => {
    const own = length === '' ? [] : [length]
    const text = [`${version} ${status}${word}`, ...lines, ...own, '', body].join(end)
    const bytes = Buffer.from(text, 'latin1')
    if (change !== null && change.at < bytes.length) bytes[change.at] = change.byte
    return bytes
  })

t.test('a head that was seen is known by all of it, however many there were', t => {
  const read = createReadWhole()
  for (let round = 0; round < 2; round++) {
    for (let nth = 0; nth < 100; nth++) {
      const body = 'x'.repeat(nth)
      const head = (bytes: number) =>
        lines('HTTP/1.1 200 OK', `Content-Type: ${nth}`, `Content-Length: ${bytes}`, '', '')
      const whole = (bytes: number) => read(Buffer.concat([head(bytes), Buffer.from(body)]))
      t.match(whole(nth), { contentType: String(nth), body: Buffer.from(body) })
      t.equal(whole(nth + 1), undefined)
      t.match(whole(nth), { contentType: String(nth), body: Buffer.from(body) })
    }
  }
  t.end()
})

t.test('what is read is what the HTTP client would read', async t => {
  let bytes = Buffer.alloc(0)
  const raw = await openRawUpstream(t, socket => socket.write(bytes))
  let count = 0
  await fc.assert(
    fc.asyncProperty(someAnswer, async one => {
      const own = createReadWhole()(one)
      if (own === undefined) return
      count++
      bytes = one
      const client = new Client(raw.url)
      try {
        const { statusCode, headers, body } = await client.request({ method: 'POST', path: '/' })
        const type = headers['content-type'] ?? ''
        const retry = headers['retry-after']
        const first = (value: string | string[] | undefined) =>
          Array.isArray(value) ? value[0] : value
        t.equal(own.status, statusCode)
        t.equal(own.contentType, first(type))
        t.equal(own.headers?.['retry-after'], first(retry))
        t.equal(own.headers?.['content-encoding'], first(headers['content-encoding']))
        t.equal(own.body.toString(), await body.text())
      } finally {
        await client.destroy()
      }
    }),
    { numRuns: 2_000 },
  )
  t.ok(count > 500, `${count} answers were in the usual form`)
})

import t from 'tap'
import { Secret } from '../../src/shared/secret.js'
import { UpstreamFailure } from '../../src/upstream/errors.js'
import { answer, openRawUpstream, type Script } from '../fixtures/submission/raw-upstream.js'
import { CANARY, later, openUpstream } from '../fixtures/upstream/client.js'

t.test('complete answers are returned unchanged', async t => {
  type Case = [name: string, script: Script, status: number, contentType: string, body: string]
  const cases: Case[] = [
    ['an answer', s => s.write(answer('{"a": 1}')), 200, 'application/json', '{"a": 1}'],
    [
      'counts with status 400',
      s => s.write(answer('{"attempted":2}\n', { status: '400 Bad Request' })),
      400,
      'application/json',
      '{"attempted":2}\n',
    ],
    [
      'an HTML page with 429',
      s =>
        s.write(answer('<html>', { status: '429 Slow', lines: ['Content-Type: text/html; a=b'] })),
      429,
      'text/html; a=b',
      '<html>',
    ],
    ['no content type', s => s.write(answer('x', { lines: [] })), 200, '', 'x'],
    ['an empty body', s => s.write(answer('', { status: '503 Busy', lines: [] })), 503, '', ''],
    ['no body at all', s => s.write('HTTP/1.1 204 No Content\r\n\r\n'), 204, '', ''],
    [
      'a redirect, which is not followed',
      s => s.write(answer('', { status: '302 Found', lines: ['Location: http://127.0.0.1:1/'] })),
      302,
      '',
      '',
    ],
    [
      'chunks',
      s =>
        s.write(
          'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n',
        ),
      200,
      '',
      'abc',
    ],
    [
      'in two packets',
      s => {
        const bytes = answer('{"in":"two"}')
        s.write(bytes.subarray(0, 70))
        later(() => s.write(bytes.subarray(70)), 20)
      },
      200,
      'application/json',
      '{"in":"two"}',
    ],
    ['ended by the close', s => s.end('HTTP/1.1 200 OK\r\n\r\nall of it'), 200, '', 'all of it'],
    [
      'a body that looks like an answer, in its own packet',
      s => {
        const inner = answer('inner')
        const outer = answer(inner)
        s.write(outer.subarray(0, -inner.length))
        later(() => s.write(inner), 20)
      },
      200,
      'application/json',
      answer('inner').toString(),
    ],
    [
      'early hints, and it in its own packet',
      s => {
        s.write('HTTP/1.1 103 Early\r\n\r\n')
        later(() => s.write(answer('x')), 20)
      },
      200,
      'application/json',
      'x',
    ],
    [
      'early hints before it',
      s => s.write(Buffer.concat([Buffer.from('HTTP/1.1 103 Early\r\n\r\n'), answer('x')])),
      200,
      'application/json',
      'x',
    ],
    [
      'a type that is not ASCII',
      s => s.write(answer('x', { lines: ['Content-Type: text/plain; a=é'] })),
      200,
      'text/plain; a=é',
      'x',
    ],
  ]
  for (const [name, script, status, contentType, body] of cases)
    t.test(name, async t => {
      const raw = await openRawUpstream(t, script)
      const { send } = await openUpstream(t, [raw.url])
      const reply = await send('{}')
      if (reply instanceof UpstreamFailure) throw reply
      t.strictSame([reply.status, reply.contentType], [status, contentType])
      t.equal(reply.body.toString(), body)
      t.equal(raw.received.length, 1)
    })
})

t.test('only headers that a client may have are returned', async t => {
  const lines = [
    'Content-Type: a/b',
    'Set-Cookie: session=1',
    'Server: upstream/1',
    'Via: proxy',
    'X-Powered-By: them',
    'Retry-After: 7',
    'Content-Encoding: identity',
    'Connection: keep-alive',
  ]
  const raw = await openRawUpstream(t, s => s.write(answer('x', { lines })))
  const { send } = await openUpstream(t, [raw.url])
  const reply = await send('{}')
  if (reply instanceof UpstreamFailure) throw reply
  t.strictSame(reply.headers, { 'retry-after': '7', 'x-content-type-options': 'nosniff' })
})

t.test('a credential in an answer is redacted', async t => {
  const secret = 'hml-canary/+é'.replace('é', '')
  const script: Script = (s, { head }) => {
    const lines = [`Content-Type: text/plain; key=${secret}`]
    s.write(
      answer(`ä ${/^x-api-key: (.*)$/m.exec(head)?.[1]} of ${head.split('\r\n')[0]}`, { lines }),
    )
  }
  const raw = await openRawUpstream(t, script)
  for (const credentialIn of ['header', 'query']) {
    const { send } = await openUpstream(t, [raw.url], {
      credential: new Secret(secret),
      credentialIn,
    })
    const reply = await send('{}')
    if (reply instanceof UpstreamFailure) throw reply
    t.notMatch(reply.body.toString(), /canary/)
    t.match(reply.body.toString(), /^ä [^]*\[redacted\]/)
    t.equal(reply.contentType, 'text/plain; key=[redacted]')
  }
})

t.test("the body of a 401 is ours, that of a 403 is the upstream's without the key", async t => {
  const ask = async (status: string) => {
    const raw = await openRawUpstream(t, s =>
      s.write(answer(`{"your key":"${CANARY}"}`, { status })),
    )
    const { send } = await openUpstream(t, [raw.url])
    const reply = await send('{}')
    if (reply instanceof UpstreamFailure) throw reply
    return [reply.status, reply.contentType, reply.body.toString()]
  }
  t.strictSame(await ask('401 Unauthorized'), [
    401,
    'application/json',
    '{"error":{"message":"the upstream refused the request with status 401"}}',
  ])
  t.strictSame(await ask('403 Forbidden'), [403, 'application/json', '{"your key":"[redacted]"}'])
})

t.test('headers of an answer are validated', async t => {
  const headersOf = async (...lines: string[]) => {
    const raw = await openRawUpstream(t, s => s.write(answer('x', { lines })))
    const { send } = await openUpstream(t, [raw.url])
    const reply = await send('{}')
    return reply instanceof UpstreamFailure ? reply.kind : reply.headers
  }
  const json = 'Content-Type: application/json'
  t.equal(await headersOf(json), undefined)
  t.strictSame(await headersOf(json, 'Retry-After: 120'), { 'retry-after': '120' })
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT'
  t.strictSame(await headersOf(json, `Retry-After: ${date}`), { 'retry-after': date })
  for (const value of ['soon', '-1', '1e9', '99999999', '1, 2', CANARY])
    t.equal(await headersOf(json, `Retry-After: ${value}`), undefined, value)
  const nosniff = { 'x-content-type-options': 'nosniff' }
  t.strictSame(await headersOf('Content-Type: text/html'), nosniff)
  t.strictSame(await headersOf(), nosniff, 'a type that a browser would guess')
  t.equal(await headersOf(json, 'Content-Encoding: gzip'), 'no-response')
  t.equal(
    await headersOf(json, 'Content-Encoding: identity', 'Content-Encoding: br'),
    'no-response',
  )
  t.equal(await headersOf(json, 'Content-Encoding: identity, gzip'), 'no-response')
  t.equal(await headersOf(json, 'Content-Encoding: identity', 'Content-Encoding: '), undefined)
})

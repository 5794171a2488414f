import bs58 from 'bs58'
import t, { type Test } from 'tap'
import {
  BYTES_TYPE,
  call,
  failure,
  findingsOf,
  JSON_TYPE,
  openTestLander,
  SEND,
} from '../../fixtures/submission/lander.js'
import { ACCEPT, signatureOf, version1 } from '../../fixtures/submission/transactions.js'
import { answer, type Script } from '../../fixtures/submission/raw-upstream.js'
import { LANDER_CREDENTIAL, type HttpAnswer } from '../../fixtures/submission/submission-edge.js'
import { base64, FLOOR, forged, sized, tipping } from '../../fixtures/sandbox/tipping.js'
import { ANY_FAILURES, usageIn } from '../../fixtures/usage/usage.js'
import { until } from '../../fixtures/until.js'

const TEXT_TYPE = { 'content-type': 'text/plain' }

const errorOf = ({ text }: HttpAnswer): unknown =>
  (JSON.parse(text) as { readonly error: unknown }).error

const open = (
  t: Test,
  script: Script = ACCEPT,
  options: Parameters<typeof openTestLander>[2] = {},
) => openTestLander(t, script, options)

t.test('bytes and texts are one sendTransaction of the lander, answered as asked for', async t => {
  const { raw, post } = await open(t)
  const cases: [query: string, toBody: (of: Buffer) => string | Buffer, headers: object][] = [
    ['', of => of, BYTES_TYPE],
    ['', of => of, { 'content-type': 'Application/Octet-Stream; x=y' }],
    ['', base64, TEXT_TYPE],
    ['', of => `${base64(of)}\n`, { 'content-type': 'text/plain; charset=utf-8' }],
    ['?encoding=base64&mev-protect=true', of => `${base64(of)}\r\n`, TEXT_TYPE],
    ['?encoding=base58', of => bs58.encode(of), TEXT_TYPE],
    ['?encoding=base58&response=signature', of => `${bs58.encode(of)}\n`, TEXT_TYPE],
  ]
  for (const [query, toBody, headers] of cases) {
    const transaction = tipping([FLOOR, 0])
    const reply = await post(SEND + query, toBody(transaction), { ...headers })
    t.match(reply, { status: 200, text: signatureOf(transaction) }, query)
    t.equal(reply.headers['content-type'], 'text/plain')
    t.equal(findingsOf(reply), '')
    const [seen] = raw.received.splice(0)
    t.equal(seen?.path, '/send')
    t.match(seen?.head, `x-api-key: ${LANDER_CREDENTIAL}`)
    t.equal(
      seen?.body.toString(),
      call('sendTransaction', [base64(transaction), { encoding: 'base64' }]),
    )
  }
  const one = tipping([FLOOR, 0])
  t.match(await post(`${SEND}?response=json`, one), {
    status: 200,
    text: JSON.stringify({ result: signatureOf(one) }),
    headers: { 'content-type': 'application/json' },
  })
  const none = await post(`${SEND}?response=none`, tipping([FLOOR, 0]))
  t.match(none, { status: 200, text: '' })
  t.equal(none.headers['content-type'], undefined)
})

t.test(
  'the bytes go to the route of the lander that takes them, which answers anything',
  async t => {
    let now = ''
    let status = '200 OK'
    const script: Script = s =>
      s.write(answer(now, { status, lines: ['Content-Type: text/plain'] }))
    const { raw, post } = await open(t, script, { binaryPath: '/send-bin' })
    const send = async (said: string, line = '200 OK'): Promise<HttpAnswer> => {
      now = said
      status = line
      return post(SEND, tipping([FLOOR, 0]))
    }
    const one = tipping([FLOOR, 0])
    now = signatureOf(one)
    t.match(await post(SEND, one), { status: 200, text: signatureOf(one) })
    const [seen] = raw.received.splice(0)
    t.equal(seen?.path, '/send-bin')
    t.match(seen?.head, 'content-type: application/octet-stream')
    t.strictSame(seen?.body, one)
    for (const said of ['', 'ok\n', '{"result":"ok"}'])
      t.equal((await send(said)).status, 200, `answered ${JSON.stringify(said)}`)
    const other = bs58.encode(Buffer.alloc(64, 5))
    t.match(await send(other), { status: 504 })
    t.match(errorOf(await send(`{"result":"${other}"}`)), { message: 'submission outcome unknown' })
    const slow = await send('ok', '419 Slow')
    t.match(slow, { status: 429, headers: { 'retry-after': '1' } })
    t.match(errorOf(slow), { code: -32_010, message: 'Lander capacity exhausted' })
    t.equal((await send('ok', '500 Odd')).status, 504)
    t.match(errorOf(await send('tip required', '400 Bad')), {
      code: -32_603,
      message: 'the lander refused the transaction with HTTP status 400',
      data: { body: 'tip required' },
    })
  },
)

t.test('what the lander refuses is told with its own error', async t => {
  let now: Buffer = Buffer.alloc(0)
  const { edge, post } = await open(t, s => s.write(now), { upstream: { answerMs: 200 } })
  const cases: [said: Buffer, status: number, error: object][] = [
    [answer(failure(-32_002, 'blocked arb program', 1)), 400, { code: -32_002 }],
    [answer(failure(-32_097, 'slow down', null), { status: '400 Bad' }), 429, { code: -32_010 }],
    [answer('', { status: '429 Too Many' }), 429, { code: -32_010 }],
    [answer('', { status: '503 Busy' }), 429, { code: -32_010 }],
    [answer('the key', { status: '401 No' }), 401, { code: -32_603, message: /credential/ }],
    [answer('blocked', { status: '403 No' }), 403, { code: -32_603, data: { body: 'blocked' } }],
    [answer('odd'), 504, { code: -32_603, message: 'submission outcome unknown' }],
    [Buffer.from('HTTP/1.1 200'), 504, { message: 'submission outcome unknown' }],
  ]
  for (const [said, status, error] of cases) {
    now = said
    const reply = await post(`${SEND}?response=none`, tipping([FLOOR, 0]))
    t.equal(reply.status, status, said.toString())
    t.match(errorOf(reply), error)
    t.notMatch(reply.text, 'the key')
  }
  const usage = usageIn(`${edge.dataDir}/access`, Date.now)
  const { failures } = await usage.failures(edge.accessId, { ...ANY_FAILURES, limit: 20 }, [])
  t.match(failures.at(-1), { method: SEND, code: -32_002, origin: 'upstream' })
  t.equal(failures.length, cases.length)
})

t.test('bad input gets the exact error, and reaches no lander', async t => {
  const { raw, post, edge } = await open(t)
  const good = tipping([FLOOR, 0])
  const size = (max: number) => `transaction 0 exceeds ${max} bytes`
  const canonical = 'transaction 0 is not canonical padded base64'
  const malformed = (why: string) => `transaction 0 is malformed: ${why}`
  type Case = [name: string, query: string, body: string | Buffer, headers: object, text: string]
  const cases: Case[] = [
    ['nothing', '', '', BYTES_TYPE, malformed('no bytes')],
    ['a byte', '', Buffer.of(1), BYTES_TYPE, malformed('ends at byte 1 inside the signatures')],
    ['half of it', '', good.subarray(0, 100), BYTES_TYPE, malformed('ends at byte 100 inside')],
    ['a byte more', '', Buffer.concat([good, good.subarray(0, 1)]), BYTES_TYPE, '1 byte behind'],
    ['JSON', '', call('sendTransaction', []), BYTES_TYPE, malformed('123 signatures')],
    ['a larger packet', '', sized(1_233), BYTES_TYPE, size(1_232)],
    ['version 1 beyond its size', '', version1(4_097), BYTES_TYPE, size(4_096)],
    ['64 KiB', '', Buffer.alloc(65_536, 1), BYTES_TYPE, size(1_232)],
    ['no text', '', '', TEXT_TYPE, malformed('no bytes')],
    [
      'whitespace within',
      '',
      `${base64(good).slice(0, 9)}\n${base64(good).slice(9)}`,
      TEXT_TYPE,
      canonical,
    ],
    ['a space before', '', ` ${base64(good)}`, TEXT_TYPE, canonical],
    ['two line breaks', '', `${base64(good)}\n\n`, TEXT_TYPE, canonical],
    ['no padding', '', base64(Buffer.alloc(10)).replaceAll('=', ''), TEXT_TYPE, canonical],
    ['URL letters', '', base64(Buffer.alloc(300, 255)).replaceAll('/', '_'), TEXT_TYPE, canonical],
    ['letters of two bytes', '', base64(good).replace('A', 'Ł'), TEXT_TYPE, canonical],
    ['base64 of 64 KiB', '', 'A'.repeat(65_536), TEXT_TYPE, size(4_096)],
    ['base58 of 64 KiB', '?encoding=base58', '1'.repeat(65_536), TEXT_TYPE, size(1_232)],
    [
      'base58 of 1,233 bytes',
      '?encoding=base58',
      bs58.encode(sized(1_233)),
      TEXT_TYPE,
      size(1_232),
    ],
    ['base64 as base58', '?encoding=base58', 'AAAA+', TEXT_TYPE, 'transaction 0 is not base58'],
    [
      'base58 with a space',
      '?encoding=base58',
      `${bs58.encode(good)} `,
      TEXT_TYPE,
      'is not base58',
    ],
  ]
  for (const [name, query, body, headers, text] of cases) {
    const reply = await post(SEND + query, body, { ...headers })
    t.equal(reply.status, 400, name)
    const error = errorOf(reply) as { code: number; message: string }
    t.equal(error.code, -32_602)
    t.ok(error.message.includes(text), `${name}: ${error.message}`)
  }
  const wrong: [query: string, headers: object, status: number, text: string][] = [
    ['?encoding=hex', TEXT_TYPE, 400, 'Query parameter encoding must be base64 or base58'],
    ['?encoding=', TEXT_TYPE, 400, 'Query parameter encoding must be'],
    ['?encoding=base64&encoding=base58', TEXT_TYPE, 400, 'Query parameter encoding must be'],
    ['?encoding=base64', BYTES_TYPE, 400, 'encoding must be absent with application/octet-stream'],
    ['?response=all', BYTES_TYPE, 400, 'response must be signature or json or none'],
    ['', JSON_TYPE, 415, 'Content-Type: application/octet-stream or text/plain is required'],
    ['', { 'content-type': '' }, 415, 'is required'],
  ]
  for (const [query, headers, status, text] of wrong) {
    const reply = await post(SEND + query, good, { ...headers })
    t.equal(reply.status, status, query)
    t.match(reply.text, text)
  }
  for (const bytes of [65_537, 8 * 1024 ** 2]) {
    const reply = await post(`${SEND}?encoding=base58`, '1'.repeat(bytes), TEXT_TYPE)
    t.equal(reply.status, 413, `${bytes} bytes`)
  }
  t.equal((await edge.post(SEND, good, BYTES_TYPE)).status, 401)
  t.equal((await edge.post(`/${edge.elsewhere}${SEND}`, good, BYTES_TYPE)).status, 401)
  t.equal((await edge.post(`/${edge.bare}${SEND}`, good, BYTES_TYPE)).status, 404)
  t.equal(raw.received.length, 0)
  t.equal((await post(SEND, good)).status, 200, 'the next one is taken')
})

t.test('the largest of each version are forwarded, and findings told as on /lander', async t => {
  const { raw, post } = await open(t)
  for (const [transaction, findings] of [
    [sized(1_232), ''],
    [tipping(), '0:tip'],
    [forged(tipping([FLOOR, 0])), '0:signature'],
    [version1(1_233), '0:signature,tip'],
    [version1(4_096), '0:signature,tip'],
  ] as const) {
    const reply = await post(SEND, transaction)
    t.equal(reply.status, 200)
    t.equal(findingsOf(reply), findings)
    t.equal((await post(SEND, transaction)).headers['x-lander-findings'] ?? '', findings, 'again')
  }
  t.equal(raw.received.length, 5)
  const strict = await open(t, ACCEPT, { enforce: true })
  const reply = await strict.post(SEND, tipping([FLOOR - 1n, 0]))
  t.equal(reply.status, 400)
  t.match(errorOf(reply), { message: /^Insufficient tip: provided 999999 lamports/ })
  t.equal(strict.raw.received.length, 0)
})

t.test('the same one twice is one submission, whoever answers when', async t => {
  const held: (() => void)[] = []
  let isHeld = true
  const script: Script = (s, request) => {
    const go = (): void => ACCEPT(s, request)
    if (isHeld) held.push(go)
    else go()
  }
  const { edge, raw, post, token } = await open(t, script)
  const one = tipping([FLOOR, 0])
  const first = post(SEND, one)
  await until('it is at the lander', () => raw.received.length === 1)
  const second = post(SEND, one)
  const asText = edge.post(`/${token}${SEND}`, base64(one), TEXT_TYPE)
  await until('all are in', () => edge.server.stats().requestsInFlight === 3)
  const replaced = edge.replaceSender()
  await until('another sender listens', async () => {
    const other = post(SEND, tipping([FLOOR, 0]))
    other.catch(() => {})
    return raw.received.length > 1
  })
  const third = post(SEND, one)
  isHeld = false
  for (const go of held.splice(0)) go()
  for (const reply of await Promise.all([first, second, asText, third]))
    t.match(reply, { status: 200, text: signatureOf(one) })
  await replaced
  t.equal((await post(SEND, one)).text, signatureOf(one), 'by what the former sender remembers')
  const isOne = (): boolean =>
    raw.received.filter(({ body }) => body.includes(base64(one))).length === 1
  t.ok(isOne(), 'it was sent once')
  await edge.restartSender()
  t.equal((await post(SEND, one)).text, signatureOf(one), 'by what is stored')
  t.ok(isOne())
  t.match(await edge.post(`/${edge.other}${SEND}`, one, BYTES_TYPE), { status: 200 })
  t.notOk(isOne(), 'another access has its own')
})

t.test('a repeat is answered as the first was, unless nobody took that', async t => {
  let now: Buffer = Buffer.alloc(0)
  const { raw, post, edge } = await open(t, s => s.write(now), { upstream: { answerMs: 200 } })
  const cases: [said: Buffer, status: number, isTaken: boolean][] = [
    [answer('tip required', { status: '400 Bad' }), 400, true],
    [answer(failure(-32_002, 'blocked', 1)), 400, true],
    [answer('odd'), 504, true],
    [Buffer.from('HTTP/1.1 200'), 504, true],
    [answer('', { status: '429 Too Many' }), 429, false],
  ]
  for (const [said, status, isTaken] of cases) {
    now = said
    const one = tipping([FLOOR, 0])
    const first = await post(SEND, one)
    t.equal(first.status, status)
    now = answer(JSON.stringify({ jsonrpc: '2.0', result: signatureOf(one), id: 1 }))
    const again = await post(SEND, one)
    if (isTaken) t.equal(again.text, first.text, said.toString())
    else t.equal(again.status, 200)
    t.equal(raw.received.splice(0).length, isTaken ? 1 : 2)
  }
  const usage = usageIn(`${edge.dataDir}/access`, Date.now)
  const { failures } = await usage.failures(edge.accessId, { ...ANY_FAILURES, limit: 20 }, [])
  t.equal(failures.length, cases.length, 'each is counted once')
})

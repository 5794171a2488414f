import { join } from 'node:path'
import t from 'tap'
import {
  BODIES,
  failure,
  openTestLander,
  SINGLE,
  single,
} from '../../fixtures/submission/lander.js'
import { answer } from '../../fixtures/submission/raw-upstream.js'
import { LANDER_CREDENTIAL } from '../../fixtures/submission/submission-edge.js'
import { ANY_FAILURES, usageIn } from '../../fixtures/usage/usage.js'

t.test('a refusal of the lander is counted with its code, origin and reason', async t => {
  const text = `tip required: ${'x'.repeat(200)}`
  const cases: [body: string, status: string, failure: object | undefined][] = [
    ['{"jsonrpc":"2.0","result":"ok","id":1}', '200 OK', undefined],
    ['{"attempted":1,"accepted":1,"rejected":0,"parse_error":null}', '200 OK', undefined],
    ['{"jsonrpc":"2.0","result":{"error":{"code":1}},"error":null,"id":1}', '200 OK', undefined],
    [failure(-32_002, text), '200 OK', { code: -32_002, text, origin: 'upstream' }],
    [text, '400 Bad Request', { code: 400, text: `HTTP 400: ${text}`, origin: 'upstream' }],
    ['', '503 Busy', { code: 503, text: 'HTTP 503', origin: 'upstream' }],
    [
      `{"error":"key ${LANDER_CREDENTIAL}"}`,
      '400 Bad Request',
      { code: 400, text: 'HTTP 400: {"error":"key [redacted]"}', origin: 'upstream' },
    ],
    [
      'x'.repeat(9_000),
      '500 Bug',
      { code: 500, text: `HTTP 500: ${'x'.repeat(502)}`, origin: 'upstream' },
    ],
  ]
  for (const [body, status, counted] of cases) {
    const { edge, post } = await openTestLander(t, s => s.write(answer(body, { status })))
    for (const [route, request] of BODIES) await post(route, request)
    const usage = usageIn(join(edge.dataDir, 'access'), Date.now)
    const { failures } = await usage.failures(edge.accessId, { ...ANY_FAILURES, limit: 9 }, [])
    const expected =
      counted === undefined
        ? []
        : BODIES.map(([method]) => Object.assign({ method }, counted)).toReversed()
    t.match(failures, expected, body)
    t.equal(failures.length, expected.length)
  }
})

t.test('the whole text of the service is kept, without what the client sent', async t => {
  const { edge, post } = await openTestLander(t)
  await post(SINGLE, single('a'))
  await post(SINGLE, single('AAAA', 'a secret'))
  const usage = usageIn(join(edge.dataDir, 'access'), Date.now)
  const { failures } = await usage.failures(edge.accessId, { ...ANY_FAILURES, limit: 9 }, [])
  t.match(failures, [
    {
      code: -32_602,
      text: 'Invalid param at index 1: invalid type: …, expected a map',
      origin: 'service',
    },
    { code: -32_602, text: 'transaction 0 is not canonical padded base64', origin: 'service' },
  ])
})

import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { RELAY_ROUTES, type RelayRoute } from '../../../src/submission/store/submission.js'
import { answer, openRawUpstream } from '../../fixtures/submission/raw-upstream.js'
import {
  base64,
  openMachine,
  OPTIONS,
  post,
  sendBundle,
  toBundle,
  toTransaction,
} from '../../fixtures/submission/relay.js'
import { accepted, idOf, signaturesOf } from '../../fixtures/submission/relay-engine.js'
import { casesOf } from '../../fixtures/submission/send-bundle-cases.js'

const openRoute = async (t: Test, route: RelayRoute) => {
  const engine = await openRawUpstream(t, (socket, { body }) =>
    socket.write(answer(accepted(body))),
  )
  const { edges } = await openMachine(t, { urls: [engine.url] })
  const send = (body: string) => post(edges[0].port, route, body)
  return { engine, edge: edges[0], send }
}

/** Each case without and with white space between the tokens. */
const withSpaces = (cases: ReturnType<typeof casesOf>) =>
  cases.flatMap(one => [[...one, 0] as const, [...one, 1] as const])

for (const route of RELAY_ROUTES)
  t.test(`${route}: each rule, in order, and what is forwarded`, async t => {
    const { engine, edge, send } = await openRoute(t, route)
    for (const [name, params, error, space] of withSpaces(casesOf(route))) {
      const before = engine.received.length
      const call = { jsonrpc: '2.0', id: name, method: 'sendBundle', params }
      const body = JSON.stringify(call, null, space)
      const { status, headers, json } = await send(body)
      t.equal(status, 200, name)
      t.equal(json.id, name)
      t.match(headers['x-relay-submission-id'], /^[0-9a-f-]{36}$/, `${name}: submission id`)
      if (error !== undefined) {
        t.equal(json.error?.code, -32_602, `${name}: code`)
        t.equal(json.error?.message, error, name)
        t.equal(engine.received.length, before, `${name}: nothing is forwarded`)
        continue
      }
      const [texts] = params as [string[]]
      const result = route === '/relay' ? signaturesOf(texts) : idOf(texts)
      t.strictSame(json, { jsonrpc: '2.0', result, id: name }, name)
      t.equal(headers['x-bundle-id'], idOf(texts), `${name}: bundle id`)
      t.strictSame(
        engine.received.slice(before).map(({ body }) => body.toString()),
        [
          `{"jsonrpc":"2.0","id":1,"method":"sendBundle","params":[${JSON.stringify(texts)},${JSON.stringify(OPTIONS[route])}]}`,
        ],
        `${name}: the forwarded bundle is the checked one`,
      )
    }
    t.notOk(edge.meterEvents.includes('mismatch'))
    t.strictSame(edge.lines, [])
  })

t.test('a bundle has an id as soon as every member has a signature', async t => {
  const { send } = await openRoute(t, '/relay-bundle')
  const poor = base64(toTransaction('/relay-bundle', { name: 'poor' }))
  const { headers } = await send(sendBundle('/relay-bundle', [poor]))
  t.equal(headers['x-bundle-id'], idOf([poor]))
  const others = Array.from({ length: 40 }, (_, nth) =>
    base64(toTransaction('/relay-bundle', { name: `one of many ${nth}` })),
  )
  const ask = (...params: readonly unknown[]) =>
    send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sendBundle', params }))
  const right = { encoding: 'base64' }
  const cases: [name: string, params: readonly unknown[], id: string | undefined][] = [
    ['without options', [[poor]], idOf([poor])],
    ['other options', [[poor], { encoding: 'base58' }], idOf([poor])],
    ['a third parameter', [[poor], right, 1], idOf([poor])],
    ['far too many members', [others, right], idOf(others)],
    ['twice the same', [[poor, poor], right], idOf([poor, poor])],
    ['a malformed member', [[poor, 'AAAA'], right], undefined],
    ['a malformed member and other options', [[poor, 'AAAA'], {}], undefined],
    ['a member that is no base64', [[poor, 'Ł'], {}], undefined],
    ['a member that is too long', [[poor, 'A'.repeat(4_000)], {}], undefined],
    ['a member that is no text', [[poor, 1], right], undefined],
    ['no member', [[], right], undefined],
    ['no list', [poor, right], undefined],
  ]
  for (const [name, params, id] of cases) {
    const { json, headers } = await ask(...params)
    t.equal(json.error?.code, -32_602, name)
    t.equal(headers['x-bundle-id'], id, name)
  }
})

t.test('the ids of these tests equal the documented ones', async t => {
  const ids = (texts: readonly string[]) =>
    createHash('sha256').update(texts.join(',')).digest('hex')
  t.equal(
    ids([
      '3bC2M9fiACSjkTXZDgeNAuQ4ScTsdKGwR42ytFdhUvikqTmBheUxfsR1fDVsM5ADCMMspuwGkdm1uKbU246x5aE3',
      '8t9hKYEYNbLvNqiSzP96S13XF1C2f1ro271Kdf7bkZ6EpjPLuDff1ywRy4gfaGSTubsM2FeYGDoT64ZwPm1cQUt',
    ]),
    '892b79ed49138bfb3aa5441f0df6e06ef34f9ee8f3976c15b323605bae0cf51d',
  )
  t.equal(
    ids([
      '2EKVNQoeihFQfepJukLFtE4BpkNyYsZ1cdocSZzsz6En8nQ3D72M24zLFTJmbpd31hvbF9SpbQG2XPqawGoDxq2s',
      'w4fJGQcZGhHzeYELeiVW2PM5iypNEsWExSuUnmfVA4hHC21CRtBSqovRYj884jRVkPqdBY4Lt1owK8LPnyE4Ahs',
    ]),
    'eb06826b16e608a7568f6ab091c26b47d4a43d847dc1e6d34172e0e778e01cc1',
  )
})

t.test(
  'a member named twice does not make what is forwarded differ from what is checked',
  async t => {
    const { engine, send } = await openRoute(t, '/relay-bundle')
    const [good, other] = [toBundle('/relay-bundle', 'good'), toBundle('/relay-bundle', 'other')]
    const call = (inside: string) => `{"jsonrpc":"2.0","id":1,"method":"sendBundle",${inside}}`
    const list = (texts: readonly string[]) => JSON.stringify(texts)
    const bodies = [
      call(
        `"params":[${list(other)},{"encoding":"base58"}],"params":[${list(good)},{"encoding":"base64"}]`,
      ),
      call(`"params":[${list(good)},{"encoding":"base58","encoding":"base64"}]`),
      call(`"params":[${list(good)},{"encoding":"base64","encoding":"base58"}]`),
      call(`"params":[${list(good)},{"encoding":"base64","__proto__":{"encoding":"base64"}}]`),
      call(`"params":[${list(good)},{"\\u0065ncoding":"base64"}]`),
    ]
    for (const body of bodies) {
      engine.received.length = 0
      const { json } = await send(body)
      if (json.error !== undefined) t.equal(engine.received.length, 0, body.slice(-60))
      else
        t.strictSame(
          JSON.parse(engine.received[0]?.body.toString() ?? ''),
          { jsonrpc: '2.0', id: 1, method: 'sendBundle', params: [good, { encoding: 'base64' }] },
          body.slice(-60),
        )
    }
  },
)

t.test('the client’s own id is returned as it was written', async t => {
  const { send } = await openRoute(t, '/relay')
  const bundle = toBundle('/relay')
  for (const id of ['0', '-1', '1.0', '18446744073709551615', '"a\\u0062"', '""', 'null']) {
    const body = `{"id":${id},"jsonrpc":"2.0","method":"sendBundle","params":[${JSON.stringify(bundle)},${JSON.stringify(OPTIONS['/relay'])}]}`
    const { text } = await send(body)
    t.ok(text.endsWith(`,"id":${id}}`), text)
  }
})

// The servers that stand for senders in the sandbox, asked by the published clients of these
// senders: what is tested against these servers is then tested against what the field speaks.
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { openBundleEngine } from '../../../src/sandbox/upstreams/bundle-engine.js'
import { CREDENTIALS } from '../../../src/sandbox/upstreams/credentials.js'
import { deriveBundleId } from '../../../src/sandbox/upstreams/derive-bundle-id.js'
import { openDevLander } from '../../../src/sandbox/upstreams/lander.js'
import { openQuicLander } from '../../../src/sandbox/upstreams/quic-lander.js'
import { createLog } from '../../../src/shared/log.js'
import {
  buildSenderClients,
  skipSenderClients,
  startSenderClients,
} from '../../fixtures/clients/sender-clients.js'
import { base64, createPayer, received, setFault } from '../../fixtures/sandbox/upstream.js'
import { until } from '../../fixtures/until.js'

const FLOOR = 1_000_000n
const SOL = 1_000_000_000n

const checkLunarLander = async (t: Test): Promise<void> => {
  const { chain, tips, pay } = createPayer(t)
  const lander = await openDevLander(chain, { tipAddresses: tips.lander })
  const log = createLog('test', () => {})
  const { port, close } = openQuicLander({ lander, log, port: 0 })
  t.teardown(async () => {
    close()
    await lander.close()
  })
  const clients = startSenderClients(t)
  const endpoint = `127.0.0.1:${port}`
  const connect = async (client: string, key: string, protect = false): Promise<void> =>
    void t.equal((await clients.connect(client, endpoint, key, protect)).error, undefined)
  await connect('one', CREDENTIALS.lander)

  const accepted = pay(FLOOR)
  t.match(await clients.ask('one', accepted.bytes), {
    status: 200,
    code: 'accepted',
    signature: accepted.signature,
  })
  t.equal(chain.account(accepted.to)?.lamports, SOL, 'it has landed')
  const oneWay = pay(FLOOR)
  t.equal((await clients.send('one', oneWay.bytes)).error, undefined)
  await until('it has landed', () => chain.account(oneWay.to) !== undefined)

  const refusals: [name: string, bytes: Buffer, answer: object][] = [
    ['no tip', pay(FLOOR - 1n).bytes, { status: 400, code: 'tip_required' }],
    ['half of one', accepted.bytes.subarray(0, 99), { status: 400, code: 'invalid_payload' }],
    ['nothing', Buffer.alloc(0), { status: 400, code: 'invalid_payload' }],
  ]
  for (const [name, bytes, answer] of refusals)
    t.match(await clients.ask('one', bytes), { ...answer, signature: null }, name)
  const faults: [status: number, body: string, answer: object][] = [
    [429, 'rate limit exceeded', { status: 429, code: 'rate_limited' }],
    [503, 'unavailable', { status: 503, code: 'unavailable' }],
    [403, 'no', { status: 403, code: 'blocked_arb_program' }],
    [400, 'transaction contains blocked arb program', { status: 400, code: 'blocked_arb_program' }],
    [200, '', { status: 200, code: 'accepted', signature: null }],
  ]
  for (const [status, body, answer] of faults) {
    await setFault(lander.url, { status, body, times: 1 })
    t.match(await clients.ask('one', pay(FLOOR).bytes), answer, `${status} ${body}`)
  }
  t.match(await clients.state('one'), { reconnects: 0, health: 'Healthy' })

  await connect('protected', CREDENTIALS.lander, true)
  const apart = pay(FLOOR)
  t.match(await clients.ask('protected', apart.bytes), { status: 200, signature: apart.signature })
  await connect('stranger', 'hml-unknown')
  t.type((await clients.ask('stranger', pay(FLOOR).bytes)).error, 'string')
}

const checkJito = async (t: Test): Promise<void> => {
  const { chain, tips, pay } = createPayer(t)
  const tipAddresses = tips.engine
  const engine = await openBundleEngine(chain, { tipAddresses, requestsPerSecondMax: 0 })
  t.teardown(engine.close)
  const clients = startSenderClients(t)
  const url = `${engine.url}/api/v1`
  const uuid = CREDENTIALS.engine
  const call = async (method: string, params?: unknown, with_: object = { uuid }) =>
    clients.jito({ url, method, params, ...with_ })
  const [tip = ''] = tipAddresses

  t.match(await call('tip accounts'), { value: { result: tipAddresses } })
  t.match(await call('tip accounts', undefined, {}), { value: { result: tipAddresses } })
  const { value: random } = await call('random tip account')
  t.ok(tipAddresses.includes(String(random)))

  const bundle = [pay(FLOOR, tip), pay(FLOOR, tip), pay(FLOOR, tip)]
  const id = deriveBundleId(bundle.map(({ signature }) => bs58.decode(signature)))
  const texts = bundle.map(({ bytes }) => base64(bytes))
  t.match(await call('bundle', texts), { value: { result: id } }, 'with its own options')
  chain.tick()
  t.match(await call('in flight', [id]), {
    value: { result: { value: [{ bundle_id: id, status: 'Landed' }] } },
  })
  t.match(await call('statuses', [id]), {
    value: {
      result: {
        value: [{ bundle_id: id, transactions: bundle.map(({ signature }) => signature) }],
      },
    },
  })
  const again = { encoding: 'base64' }
  t.match(await call('bundle', [texts, again]), {
    value: { error: { message: 'bundle contains an already processed transaction' } },
  })
  // The SDK takes two transactions for the parameters, and sends them as they are.
  t.match(await call('bundle', texts.slice(0, 2)), { value: { error: { code: -32602 } } })

  const [single, whole] = [pay(FLOOR, tip), pay(FLOOR, tip)]
  const without = (one: typeof single) => ({ tx: base64(one.bytes), skipPreflight: true })
  t.match(await call('transaction', without(single), {}), { value: { result: single.signature } })
  t.match(await call('transaction as bundle', without(whole), {}), {
    value: { result: whole.signature },
  })
  t.match(await call('tip accounts', undefined, { uuid: 'another' }), {
    value: { error: { code: -32600, message: 'Unauthorized' } },
  })
  await setFault(engine.url, {
    status: 429,
    body: '{"jsonrpc":"2.0","error":{"code":-32097,"message":"Rate limit exceeded","data":null},"id":null}',
    times: 1,
  })
  t.match(await call('bundle', texts), { value: { error: { code: -32097 } } })
  const seen = await received(engine.url)
  t.ok(seen.every(({ headers }) => headers['content-type'] === 'application/json'))
}

t.test('published clients ask the dev servers', { skip: skipSenderClients }, async t => {
  buildSenderClients(t)
  await t.test('lunar-lander-quic-client', checkLunarLander)
  await t.test('jito-sdk-rust', checkJito)
})

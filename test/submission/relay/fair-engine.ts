import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { defaults } from '../../../src/submission/relay/options.js'
import { answer, openRawUpstream } from '../../fixtures/submission/raw-upstream.js'
import { openMachine, post, sendBundle, toBundle } from '../../fixtures/submission/relay.js'
import {
  accepted,
  acceptedResult,
  json,
  openEngine,
  STATUS_BODY,
} from '../../fixtures/submission/relay-engine.js'

const { requestsPerSecondMax, requestsBurstMax, statusesPerSecondMax, statusesBurstMax } = defaults
const SHIPPED = { requestsPerSecondMax, requestsBurstMax, statusesPerSecondMax, statusesBurstMax }
const FULL_CODE = -32_010

/** Sends a bundle of its own of an access. */
const openSenders = (port: number) => {
  let count = 0
  return (access: string) => {
    const bundle = toBundle('/relay-bundle', `${access} ${count++}`, 1)
    return post(port, '/relay-bundle', sendBundle('/relay-bundle', bundle), { 'x-access': access })
  }
}

const accepting =
  (bodies: string[]) =>
  (socket: import('node:net').Socket, { body }: { body: Buffer }) => {
    const { method, id } = JSON.parse(body.toString()) as { method: string; id: unknown }
    bodies.push(method)
    const isBundle = method === 'sendBundle'
    const result = isBundle ? acceptedResult(body) : { context: { slot: 1 }, value: [] }
    socket.write(json('200 OK', { jsonrpc: '2.0', result, id }))
  }

t.test('with shipped defaults one polls every 20 ms while another sends one a second', async t => {
  const methods: string[] = []
  const engine = await openRawUpstream(t, accepting(methods))
  const { edges } = await openMachine(t, { urls: [engine.url], relay: SHIPPED, edgeCount: 2 })
  const [one, other = one] = edges
  const stop = new AbortController()
  const poll = async (): Promise<number[]> => {
    const codes: number[] = []
    const polls: Promise<void>[] = []
    for (let id = 0; !stop.signal.aborted; id++) {
      const { port } = id % 2 === 0 ? one : other
      const body = STATUS_BODY.replace('"q"', String(id))
      const ask = async (): Promise<void> => {
        const { json } = await post(port, '/relay-bundle', body, { 'x-access': 'b' })
        codes.push(json.error?.code ?? 0)
      }
      polls.push(ask())
      await sleep(20)
    }
    await Promise.all(polls)
    return codes
  }
  const polling = poll()
  const senders = [openSenders(one.port), openSenders(other.port)]
  const sent: number[] = []
  for (const [nth, send] of [...senders, ...senders].entries()) {
    const { json } = await send(`a${nth % 2}`)
    sent.push(json.error?.code ?? 0)
    await sleep(1_000)
  }
  stop.abort()
  const codes = await polling
  t.strictSame(sent, [0, 0, 0, 0], 'every bundle is sent')
  t.ok(codes.length > 20)
  t.strictSame(new Set(codes), new Set([0]), 'every poll has the engine’s answer')
  const asked = methods.filter(method => method === 'getBundleStatuses').length
  t.ok(asked >= 2 && asked <= 8, `${asked} requests for ${codes.length} polls`)
})

t.test('an access that sends without pause leaves the other its part', async t => {
  const methods: string[] = []
  const relay = { requestsPerSecondMax: 20, requestsBurstMax: 1, queueMs: 1_000 }
  const { edge } = await openEngine(t, accepting(methods), { relay })
  const send = openSenders(edge.port)
  const stop = new AbortController()
  const counts = { sent: 0, full: 0 }
  const flood = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const { json } = await send('flood')
      if (json.error?.code === FULL_CODE) counts.full++
      else counts.sent++
    }
  }
  const floods = Array.from({ length: 32 }, flood)
  await sleep(400)
  const codes: number[] = []
  for (let bundle = 0; bundle < 12; bundle++) {
    const { json } = await send('other')
    codes.push(json.error?.code ?? 0)
  }
  stop.abort()
  await Promise.all(floods)
  t.strictSame(new Set(codes), new Set([0]), 'each of its bundles is sent')
  t.ok(counts.full > 0 && counts.sent > 0, JSON.stringify(counts))
})

t.test('a bundle that waits is not sent once its access has ended', async t => {
  const ended = { status: 403, contentType: 'application/json', body: '{}' }
  let isEnded = false
  const relay = { requestsPerSecondMax: 5, requestsBurstMax: 1 }
  const { engine, edge } = await openEngine(
    t,
    (socket, { body }) => socket.write(answer(accepted(body))),
    { relay, recheck: () => (isEnded ? ended : undefined) },
  )
  const send = openSenders(edge.port)
  await send('a')
  const waiting = send('a')
  await sleep(60)
  isEnded = true
  t.equal((await waiting).status, 403)
  t.equal(engine.received.length, 1)
})

t.test('equal bundles that wait are sent once', async t => {
  const methods: string[] = []
  const relay = { requestsPerSecondMax: 5, requestsBurstMax: 1 }
  const engine = await openRawUpstream(t, accepting(methods))
  const { edges } = await openMachine(t, { urls: [engine.url], relay, edgeCount: 2 })
  const ports = edges.map(({ port }) => port)
  await openSenders(ports[0] ?? 0)('a')
  const body = sendBundle('/relay-bundle', toBundle('/relay-bundle', 'equal', 1))
  const replies = await Promise.all(
    [0, 1, 0, 1].map(edge => post(ports[edge] ?? 0, '/relay-bundle', body)),
  )
  t.strictSame(
    replies.map(({ json }) => json.error),
    [undefined, undefined, undefined, undefined],
  )
  t.equal(methods.length, 2)
})

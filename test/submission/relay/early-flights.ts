import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { BegunBundle } from '../../../src/native/transactions.js'
import { answer, openRawUpstream } from '../../fixtures/submission/raw-upstream.js'
import {
  base64,
  openMachine,
  post,
  QUALIFYING,
  sendBundle,
  toBundle,
  toTransaction,
  type MachineOptions,
} from '../../fixtures/submission/relay.js'

const ROUTE = '/relay-bundle'
const ID = 'ab'.repeat(32)
const ACCEPTED = answer(JSON.stringify({ jsonrpc: '2.0', result: ID, id: 1 }))

/** An edge with one connection to its engine that was used already. */
const openWarm = async (t: Test, options: Partial<MachineOptions> = {}, answerMs = 0) => {
  const engine = await openRawUpstream(
    t,
    socket => void setTimeout(() => socket.write(ACCEPTED), answerMs),
  )
  const { edges } = await openMachine(t, { urls: [engine.url], ...options })
  const [edge] = edges
  const send = (transactions: readonly string[]) =>
    post(edge.port, ROUTE, sendBundle(ROUTE, transactions))
  t.match((await send(toBundle(ROUTE, 'the first'))).json, { result: ID })
  t.equal(engine.received.length, 1)
  const sent = edge.sendings.length
  return { engine, edge, send, sendings: () => edge.sendings.slice(sent) }
}

const forge = (name: string): string => {
  const bytes = toTransaction(ROUTE, { ...QUALIFYING, name })
  bytes[5] = (bytes[5] ?? 0) ^ 1
  return base64(bytes)
}

t.test('what is sound flies early, what is forged is held back, over one connection', async t => {
  const { engine, send, sendings } = await openWarm(t, { isPatient: true })
  for (let nth = 0; nth < 100; nth++) {
    const [forged, good] = [
      await send([forge(`forged ${nth}`)]),
      await send(toBundle(ROUTE, `${nth}`)),
    ]
    t.match(forged.json, {
      error: { code: -32_602, message: 'transaction 0 signature verification failure' },
    })
    t.match(good.json, { result: ID })
  }
  t.equal(engine.received.length, 101)
  t.equal(new Set(engine.received.map(({ body }) => body.toString())).size, 101, 'none twice')
  t.equal(engine.connectionCount(), 1, 'what was held back has cost no connection')
  t.strictSame(
    sendings(),
    Array.from({ length: 200 }, (_, nth) => (nth % 2 === 0 ? 'held back' : 'early')),
  )
})

t.test('an access that ends meanwhile is judged before the first byte', async t => {
  let isEnded = false
  const refusal = { status: 401, contentType: 'application/json', body: '{}' }
  let asked = 0
  const { engine, send, sendings } = await openWarm(t, {
    // The first one is asked before the bundle is read.
    recheck: () => (isEnded && ++asked > 1 ? refusal : undefined),
  })
  isEnded = true
  const { status, headers } = await send(toBundle(ROUTE, 'ended'))
  t.equal(status, 401)
  t.match(headers['x-bundle-id'], /^[0-9a-f]{64}$/)
  t.equal(engine.received.length, 1)
  t.notOk(sendings().includes('early'))
  isEnded = false
  t.match((await send(toBundle(ROUTE, 'ended'))).json, { result: ID })
})

t.test('an empty bucket holds a bundle back', async t => {
  const { engine, send } = await openWarm(t, {
    relay: { requestsPerSecondMax: 0.01, requestsBurstMax: 1 },
  })
  const { json } = await send(toBundle(ROUTE, 'one more'))
  t.match(json, { error: { code: -32_010 } })
  t.equal(engine.received.length, 1)
})

t.test('the same bundle twice at once is sent once, whoever begins', async t => {
  const { engine, edge, send } = await openWarm(t, {}, 50)
  for (let nth = 0; nth < 20; nth++) {
    const bundle = toBundle(ROUTE, `twice ${nth}`)
    const answers = await Promise.all([send(bundle), send(bundle), send(bundle)])
    for (const { json } of answers) t.match(json, { result: ID })
  }
  t.equal(engine.received.length, 21)
  t.equal(edge.told.filter(word => word === 'joined').length, 40)
})

t.test(
  'signatures that are not known in time keep a bundle, and the next ones, to themselves',
  async t => {
    const begun = (texts: readonly string[]): BegunBundle => ({
      signatures: texts.map(() => '1'.repeat(64)),
      faults: [],
      duplicate: undefined,
      bundleId: createHash('sha256').update(String(count)).digest('hex'),
      qualifies: true,
      wrongSignature: () => (isSlow ? new Promise(resolve => setTimeout(resolve, 5)) : undefined),
    })
    let count = 0
    let isSlow = false
    const { engine, send, sendings } = await openWarm(t, {
      beginBundle: texts => {
        count++
        return begun(texts)
      },
    })
    const wanted: string[] = []
    const sendAll = async (howEach: readonly string[]): Promise<void> => {
      for (const how of howEach) {
        wanted.push(...(how === 'held back' ? [how, 'late'] : [how]))
        t.match((await send(toBundle(ROUTE, `${count}`))).json, { result: ID })
        t.strictSame(sendings(), wanted)
      }
    }
    const late = (bundles: number): string[] => Array.from({ length: bundles }, () => 'late')
    isSlow = true
    // Each time twice as many fly late, up to a bound.
    for (const next of [1, 2, 4, 8, 16, 32, 32]) await sendAll(['held back', ...late(next)])
    isSlow = false
    await sendAll(['early', 'early'])
    isSlow = true
    await sendAll(['held back', 'late'])
    isSlow = false
    await sendAll(['early'])
    t.equal(engine.received.length, count)
    t.equal(engine.connectionCount(), 1)
  },
)

import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import bs58 from 'bs58'
import t from 'tap'
import { ERRORS } from '../../src/shared/errors.js'
import { StoreReader } from '../../src/submission/store/store-reader.js'
import { answer, openRawUpstream } from '../fixtures/submission/raw-upstream.js'
import {
  base64,
  openMachine,
  QUALIFYING,
  sendBundle,
  toTransaction,
} from '../fixtures/submission/relay.js'
import { until } from '../fixtures/until.js'

const isFull = process.env['SLOTLINE_SOAK'] === 'full'
const BUNDLES = isFull ? 5_000 : 300
/** Bundles in flight at once. */
const AT_ONCE = 40
/** Delay of the engine's answer, so that concurrent senders of a bundle find it in flight. */
const HOLD_MS = 60
/** Bound of the engine's answer: a busy machine may exceed it for any bundle. */
const ANSWER_MS = 3_000
const SEED = 20_261_121

/** Seeded generator, so that a failure can be reproduced. */
const createRandom = (seed: number) => {
  let state = seed
  return (count: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * count)
  }
}

type Heard = { readonly code?: number; readonly message?: string; readonly result?: unknown }

/**
 * Sends a body and reads the answer; undefined if the client disconnects first or the connection
 * breaks.
 */
const send = (port: number, body: string, leavesAfterMs: number | undefined) =>
  new Promise<Heard | undefined>(resolve => {
    const options = { port, host: '127.0.0.1', path: '/relay-bundle', method: 'POST', agent: false }
    const sent = request(options, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => (text += String(chunk)))
      response.on('error', () => resolve(undefined))
      response.on('end', () => {
        const { result, error } = JSON.parse(text)
        resolve(error === undefined ? { result } : { code: error.code, message: error.message })
      })
    })
    sent.on('error', () => resolve(undefined))
    sent.end(body)
    if (leavesAfterMs !== undefined) setTimeout(() => sent.destroy(), leavesAfterMs)
  })

/**
 * What the engine may do with a bundle that it has read, and the answers that clients then receive.
 */
const DEEDS = [
  ['accept', undefined],
  ['accept', undefined],
  ['accept', undefined],
  ['refuse', -32_602],
  ['limit', -32_010],
  ['garbage', -32_603],
  ['reset', -32_603],
  ['silence', -32_603],
] as const

t.test('no engine fault or client disconnect sends a bundle twice', async t => {
  const random = createRandom(SEED)
  const deeds = new Map<string, (typeof DEEDS)[number][]>()
  const inFlight = new Set<string>()
  const faults: string[] = []
  const engine = await openRawUpstream(t, (socket, { body }) => {
    const [texts] = JSON.parse(body.toString()).params
    const text = String(texts[0])
    const id = createHash('sha256')
      .update(bs58.encode(Buffer.from(text, 'base64').subarray(1, 65)))
      .digest('hex')
    const deed = DEEDS[random(DEEDS.length)] ?? DEEDS[0]
    deeds.set(text, [...(deeds.get(text) ?? []), deed])
    if (inFlight.has(text)) faults.push(`${id}: sent while it is in flight`)
    inFlight.add(text)
    const onEnd = (): void => {
      inFlight.delete(text)
      socket.off('close', onEnd)
    }
    socket.once('close', onEnd)
    setTimeout(() => {
      if (deed[0] !== 'silence') onEnd()
      if (deed[0] === 'accept') socket.write(answer(JSON.stringify({ id: 1, result: id })))
      else if (deed[0] === 'refuse')
        socket.write(answer('{"error":{"code":-32602,"message":"no"}}', { status: '400 No' }))
      else if (deed[0] === 'limit') socket.write(answer('', { status: '429 Slow' }))
      else if (deed[0] === 'garbage') socket.write(answer('{'))
      else if (deed[0] === 'reset') socket.resetAndDestroy()
    }, HOLD_MS)
  })
  const machine = await openMachine(t, {
    urls: [engine.url],
    edgeCount: 2,
    upstream: { answerMs: ANSWER_MS, inFlightMax: 4_096 },
  })
  const { edges, dataDir } = machine

  let answered = 0
  let left = 0
  const submit = async (name: string): Promise<void> => {
    const text = base64(toTransaction('/relay-bundle', { ...QUALIFYING, name }))
    const body = sendBundle('/relay-bundle', [text])
    const clients = Array.from({ length: 1 + random(4) }, () => {
      const port = edges[random(edges.length)]?.port ?? 0
      return send(port, body, random(3) === 0 ? random(2 * HOLD_MS) : undefined)
    })
    const startedMs = performance.now()
    const heard = await Promise.all(clients)
    const hasTimedOut = performance.now() - startedMs >= ANSWER_MS
    const own = deeds.get(text) ?? []
    for (const one of heard) {
      if (one === undefined) left++
      else answered++
      const isKnown = own.some(
        ([deed, code]) => one?.code === code && (deed === 'accept') === (one?.result !== undefined),
      )
      const isTimeout = hasTimedOut && one?.message === ERRORS.outcomeUnknown.message
      if (one !== undefined && !isKnown && !isTimeout)
        faults.push(`${name}: ${JSON.stringify(own)}, and ${JSON.stringify(one)}`)
    }
  }
  const names = Array.from({ length: BUNDLES }, (_, index) => `once ${index}`)
  const work = async (): Promise<void> => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) await submit(name)
  }
  let isOver = false
  let replacements = 0
  const replaceSenders = async (): Promise<void> => {
    for (; !isOver; replacements++) {
      await sleep(random(300))
      await machine.replaceSender()
    }
  }
  const replacing = replaceSenders()
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  isOver = true
  await replacing
  t.strictSame(faults.slice(0, 10), [], `seed ${SEED}`)
  // A client that was slow may submit a bundle after its first send has ended: then it is sent
  // again, for that submission. No submission is sent twice.
  await until('all are stored', async () => (await machine.inFlight()) === 0)
  const reader = new StoreReader(dataDir)
  const start = { before: undefined, countMax: 4 * BUNDLES, limitMs: 60_000, now: Date.now }
  const { found: records, next } = await reader.search({ accessId: 'access-1' }, start)
  t.equal(next, undefined, 'all are found')
  await reader.close()
  const sent = records.filter(({ submission }) => submission.forwardedAtMs !== null)
  t.ok(sent.every(({ submission }) => submission.joined === null))
  t.equal(engine.received.length, sent.length, 'requests at the engine, and submissions sent')
  t.ok(answered > BUNDLES / 2 && left > BUNDLES / 10, `${answered} answered, ${left} left`)
  t.ok(replacements > 1)
  t.comment(
    `${replacements} senders, ${answered} answered, ${left} left, ${engine.received.length} at the engine`,
  )
})

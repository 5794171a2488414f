import { createHash } from 'node:crypto'
import bs58 from 'bs58'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { CLAIM_WORDS, createClaims } from '../../../src/submission/single-flight/lock-table.js'
import { createFlights, type Begun } from '../../../src/submission/single-flight/single-flight.js'
import { createIds, formatId } from '../../../src/submission/store/submission-id.js'
import type { Submission } from '../../../src/submission/store/submission.js'
import { answer, openRawUpstream, type Script } from '../../fixtures/submission/raw-upstream.js'
import {
  openMachine,
  post,
  sendBundle,
  toBundle,
  type MachineOptions,
} from '../../fixtures/submission/relay.js'
import { ACCEPTED, PENDING } from '../../fixtures/submission/submission.js'
import { until } from '../../fixtures/until.js'

const idOf = (texts: readonly string[]): string => {
  const signatures = texts.map(text => bs58.encode(Buffer.from(text, 'base64').subarray(1, 65)))
  return createHash('sha256').update(signatures.join(',')).digest('hex')
}

/** An engine that holds each bundle until it is told to answer. */
const openHolding = async (t: Test, options: Partial<MachineOptions> = {}) => {
  const held: (() => void)[] = []
  const script: Script = (socket, { body }) => {
    const { params } = JSON.parse(body.toString())
    const result = idOf(params[0])
    held.push(() => socket.write(answer(JSON.stringify({ jsonrpc: '2.0', result, id: 1 }))))
  }
  const engine = await openRawUpstream(t, script)
  const machine = await openMachine(t, { urls: [engine.url], edgeCount: 2, ...options })
  const [one, other = machine.edges[0]] = machine.edges
  return { engine, held, one, other, machine, release: () => held.splice(0).forEach(go => go()) }
}

/** Resolves when so many bundles are where they wait for an answer. */
const untilChecked = async (
  edges: readonly { readonly checkedCount: number }[],
  count: number,
): Promise<void> => {
  const checked = (): number => edges.reduce((sum, { checkedCount }) => sum + checkedCount, 0)
  await until(`${count} bundles are checked`, () => checked() === count)
  await new Promise(resolve => setTimeout(resolve, 10))
}

t.test('the same bundle at one edge is sent once, and all who sent it are answered', async t => {
  const { engine, one, release } = await openHolding(t)
  const bundle = toBundle('/relay-bundle')
  const send = (id: string) =>
    post(one.port, '/relay-bundle', sendBundle('/relay-bundle', bundle, id), { 'x-access': id })
  const first = send('a')
  await until('the first is at the engine', () => engine.received.length === 1)
  const others = [send('b'), send('c')]
  const another = post(
    one.port,
    '/relay-bundle',
    sendBundle('/relay-bundle', toBundle('/relay-bundle', 'else')),
  )
  await until('another bundle is at the engine', () => engine.received.length === 2)
  await untilChecked([one], 4)
  release()
  const answered = await Promise.all([first, ...others])
  t.strictSame(
    answered.map(({ json }) => json),
    ['a', 'b', 'c'].map(id => ({ jsonrpc: '2.0', result: idOf(bundle), id })),
  )
  t.equal(engine.received.length, 2)
  await another
  const submissions = new Set(answered.map(({ headers }) => headers['x-relay-submission-id']))
  t.equal(submissions.size, 3, 'each has its own submission id')
  t.strictSame(
    new Set(answered.map(({ headers }) => headers['x-bundle-id'])),
    new Set([idOf(bundle)]),
  )
  t.equal(one.told.filter(word => word === 'joined').length, 2)

  for (const [index, id] of ['a', 'b', 'c'].entries()) {
    const params = [answered[index]?.headers['x-relay-submission-id']]
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getSubmission', params })
    const { json } = await post(one.port, '/relay', body, { 'x-access': id })
    const { joined, forwardedAtMs, outcome } = json.result as Submission
    t.equal(outcome, 'accepted')
    t.equal(joined, index === 0 ? null : answered[0]?.headers['x-relay-submission-id'])
    t.equal(forwardedAtMs === null, index !== 0)
  }
})

t.test('the same bundle at two edges is sent once, and both are answered', async t => {
  const { engine, one, other, release } = await openHolding(t)
  const bundle = toBundle('/relay-bundle')
  const body = (id: string) => sendBundle('/relay-bundle', bundle, id)
  const first = post(one.port, '/relay-bundle', body('a'))
  await until('it is at the engine', () => engine.received.length === 1)
  const second = post(other.port, '/relay-bundle', body('b'))
  const third = post(other.port, '/relay-bundle', body('c'))
  await untilChecked([one, other], 3)
  release()
  const answered = await Promise.all([first, second, third])
  t.strictSame(
    answered.map(({ json }) => json),
    ['a', 'b', 'c'].map(id => ({ jsonrpc: '2.0', result: idOf(bundle), id })),
  )
  t.equal(engine.received.length, 1)
  t.equal(other.told.filter(word => word === 'joined').length, 2)
})

t.test('an engine’s error is shared in all its words, and so is an unknown outcome', async t => {
  const says: [said: Buffer, error: object][] = [
    [
      answer(
        '{"error":{"code":-32602,"message":"bundle contains an expired blockhash","data":{"a":1}}}',
        { status: '400 Bad Request' },
      ),
      { code: -32_602, message: 'bundle contains an expired blockhash', data: { a: 1 } },
    ],
    [
      answer('', { status: '429 Too Many Requests' }),
      { code: -32_010, message: 'Bundle-engine capacity exhausted' },
    ],
    [answer('x'), { code: -32_603, message: 'submission outcome unknown' }],
    [
      answer('', { status: '403 Forbidden' }),
      { code: -32_603, message: 'bundle engine refused the request with HTTP status 403' },
    ],
  ]
  const held: (() => void)[] = []
  let said: Buffer = Buffer.alloc(0)
  const engine = await openRawUpstream(t, socket => void held.push(() => socket.write(said)))
  const { edges } = await openMachine(t, { urls: [engine.url], edgeCount: 2 })
  let checked = 0
  for (const [now, error] of says) {
    said = now
    engine.received.length = 0
    const body = sendBundle('/relay-bundle', toBundle('/relay-bundle'))
    const sent = [edges[0], ...edges].map(async ({ port }, index) => {
      if (index > 0) await until('it is at the engine', () => engine.received.length === 1)
      return post(port, '/relay-bundle', body)
    })
    await until('it is at the engine', () => engine.received.length === 1)
    await untilChecked(edges, (checked += 3))
    held.splice(0).forEach(go => go())
    for (const { json, headers } of await Promise.all(sent)) {
      const submissionId = headers['x-relay-submission-id']
      const isUnknown = 'message' in error && error.message === 'submission outcome unknown'
      t.strictSame(json.error, isUnknown ? { ...error, data: { submissionId } } : error)
      const isFull = 'code' in error && error.code === -32_010
      t.equal(headers['retry-after'], isFull ? '1' : undefined)
    }
    t.equal(engine.received.length, 1, JSON.stringify(error))
  }
})

t.test(
  'the same transactions on the other route, or in another order, are another bundle',
  async t => {
    const { engine, one, release } = await openHolding(t, {
      relay: { serviceTipFloorLamports: 0, engineTipFloorLamports: 0 },
    })
    const bundle = toBundle('/relay-bundle')
    const bodies: ['/relay' | '/relay-bundle', string[]][] = [
      ['/relay-bundle', bundle],
      ['/relay', bundle],
      ['/relay-bundle', bundle.toReversed()],
    ]
    const sent = bodies.map(([route, texts]) => post(one.port, route, sendBundle(route, texts)))
    await until('all are at the engine', () => engine.received.length === 3)
    release()
    for (const { json } of await Promise.all(sent)) t.ok(json.result)
  },
)

t.test('a bundle that was answered is sent again when it comes again, at any edge', async t => {
  const { engine, one, other, held } = await openHolding(t)
  const bundle = toBundle('/relay-bundle')
  const timer = setInterval(() => held.splice(0).forEach(go => go()), 1)
  t.teardown(() => clearInterval(timer))
  for (let round = 0; round < 30; round++) {
    const { port } = round % 3 === 0 ? one : other
    const { json } = await post(port, '/relay-bundle', sendBundle('/relay-bundle', bundle))
    t.equal(json.result, idOf(bundle))
    t.equal(engine.received.length, round + 1)
  }
})

t.test(
  'a client that leaves takes nothing back: it is sent once, and others get the answer',
  async t => {
    const { engine, one, other, release } = await openHolding(t)
    const bundle = toBundle('/relay-bundle')
    const body = sendBundle('/relay-bundle', bundle)
    const socket = connect(one.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      `POST /relay-bundle HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await until('it is at the engine', () => engine.received.length === 1)
    socket.resetAndDestroy()
    const joined = [one, other].map(({ port }) => post(port, '/relay-bundle', body))
    await untilChecked([one, other], 3)
    release()
    for (const { json } of await Promise.all(joined)) t.equal(json.result, idOf(bundle))
    t.equal(engine.received.length, 1)
    await until('its end is stored', () => one.ledger.stats().inFlight === 0)
  },
)

const KEY = createHash('sha256').update('key').digest()

/** Two edges with nothing but claims between them, and records that the test stores. */
const openTwo = () => {
  const words = new BigInt64Array(CLAIM_WORDS)
  const clock = { ms: 0 }
  const stored = new Map<string, Submission>()
  const read = (_edge: number, id: Uint8Array) => stored.get(formatId(id))
  const create = (edgeIndex: number) => {
    const claims = createClaims({ words, edgeIndex, claimSecondsMax: 60, nowSeconds: () => 0 })
    const options = { followPollMs: 1, followMs: 1_000 }
    return { claims, flights: createFlights(options, { claims, read, now: () => clock.ms }) }
  }
  return { clock, stored, one: create(0), other: create(1), newId: createIds(() => 5) }
}
const isSame = ({ bundleId }: Submission): boolean => bundleId === PENDING.bundleId
const never = (): never => {
  throw new Error('it flew')
}
/** A flight whose end is in the test's hands. */
const toBegun = () => {
  let end: (submission: Submission) => void = () => {}
  let store: (isStored: boolean) => void = () => {}
  const begun: Begun = {
    ended: new Promise(resolve => (end = resolve)),
    stored: new Promise(resolve => (store = resolve)),
  }
  return {
    begun,
    end: (last: Submission) => end(last),
    store: (isStored: boolean) => store(isStored),
  }
}

t.test('an edge that dies before it sent leaves the bundle to the next', async t => {
  const { one, other, newId } = openTwo()
  const claim = one.claims.take(KEY)
  const waiting = other.flights.fly({
    key: KEY,
    id: newId(),
    isSame,
    prepare: () => () => ({ ended: Promise.resolve(ACCEPTED), stored: Promise.resolve(true) }),
  })
  await new Promise(resolve => setTimeout(resolve, 20))
  t.type(claim, 'object')
  // What the edge does when it starts again.
  one.claims.clear(2)
  t.strictSame(await waiting, { ending: ACCEPTED, joined: null })
})

t.test(
  'an edge that dies amid a flight leaves its outcome unknown, and nobody sends it again',
  async t => {
    const { one, other, newId, stored } = openTwo()
    const id = newId()
    const { begun } = toBegun()
    void one.flights.fly({ key: KEY, id, isSame, prepare: () => () => begun })
    const waiting = other.flights.fly({ key: KEY, id: newId(), isSame, prepare: never })
    await new Promise(resolve => setTimeout(resolve, 20))
    // It starts again: first it keeps what the journal says, then it lets its claims go.
    const unknown: Submission = { ...PENDING, outcome: 'unknown' }
    stored.set(formatId(id), unknown)
    one.claims.clear(2)
    t.strictSame(await waiting, { ending: unknown, joined: formatId(id) })
  },
)

t.test('an end that cannot be stored is unknown to other edges', async t => {
  const { one, other, newId } = openTwo()
  const { begun, end, store } = toBegun()
  const first = one.flights.fly({ key: KEY, id: newId(), isSame, prepare: () => () => begun })
  const waiting = other.flights.fly({ key: KEY, id: newId(), isSame, prepare: never })
  await new Promise(resolve => setTimeout(resolve, 20))
  end(ACCEPTED)
  t.strictSame(await first, { ending: ACCEPTED, joined: null })
  store(false)
  t.equal(await waiting, 'unknown')
})

t.test('a flight that never ends is waited for only so long', async t => {
  const { one, other, newId, clock } = openTwo()
  const { begun } = toBegun()
  void one.flights.fly({ key: KEY, id: newId(), isSame, prepare: () => () => begun })
  const waiting = other.flights.fly({ key: KEY, id: newId(), isSame, prepare: never })
  await new Promise(resolve => setTimeout(resolve, 10))
  clock.ms = 1_001
  t.equal(await waiting, 'unknown')
})

t.test('who comes between the end and its storing begins a flight of its own', async t => {
  const { one, other, newId, stored } = openTwo()
  const begins = [toBegun(), toBegun(), toBegun()] as const
  const ids = [newId(), newId(), newId()] as const
  const first = one.flights.fly({
    key: KEY,
    id: ids[0],
    isSame,
    prepare: () => () => begins[0].begun,
  })
  begins[0].end(ACCEPTED)
  await first
  // At another edge: it must not be given the answer of a flight that was over when it came.
  let isWaiting = true
  const second = other.flights.fly({
    key: KEY,
    id: ids[1],
    isSame,
    prepare: () => () => begins[1].begun,
  })
  void second.then(() => (isWaiting = false))
  stored.set(formatId(ids[0]), ACCEPTED)
  await new Promise(resolve => setTimeout(resolve, 10))
  t.ok(isWaiting)
  begins[0].store(true)
  await until('the other edge flies', () => other.claims.holder(KEY)?.edge === 1)
  begins[1].end(ACCEPTED)
  t.match(await second, { joined: null })
  begins[1].store(true)
  await until('it is over', () => one.claims.holder(KEY) === undefined)

  // At the same edge: the first one's storing must not end the second one's claim.
  const again = [toBegun(), toBegun()] as const
  const third = one.flights.fly({
    key: KEY,
    id: ids[2],
    isSame,
    prepare: () => () => again[0].begun,
  })
  again[0].end(ACCEPTED)
  await third
  const fourth = one.flights.fly({
    key: KEY,
    id: newId(),
    isSame,
    prepare: () => () => again[1].begun,
  })
  again[0].store(true)
  await new Promise(resolve => setTimeout(resolve, 10))
  t.equal(other.claims.take(KEY), 'held')
  again[1].end(ACCEPTED)
  await fourth
  again[1].store(true)
  await until('it is over', () => one.claims.holder(KEY) === undefined)
})

t.test('many who wait for another edge look together, and none of them sends', async t => {
  const { one, other, newId, stored } = openTwo()
  const id = newId()
  const { begun, end, store } = toBegun()
  const first = one.flights.fly({ key: KEY, id, isSame, prepare: () => () => begun })
  let asked = 0
  const isCounted = (submission: Submission): boolean => {
    asked++
    return isSame(submission)
  }
  stored.set(formatId(id), PENDING)
  const waiting = Array.from({ length: 500 }, () =>
    other.flights.fly({ key: KEY, id: newId(), isSame: isCounted, prepare: never }),
  )
  await new Promise(resolve => setTimeout(resolve, 30))
  t.ok(asked > 1 && asked < 100, `${asked} looks`)
  end(ACCEPTED)
  await first
  stored.set(formatId(id), ACCEPTED)
  store(true)
  for (const one of await Promise.all(waiting))
    t.strictSame(one, { ending: ACCEPTED, joined: formatId(id) })
})

t.test('of many who waited for an edge that died before it sent, one sends', async t => {
  const { one, other, newId } = openTwo()
  one.claims.take(KEY)
  const { begun, end, store } = toBegun()
  let sent = 0
  const prepare = () => () => {
    sent++
    return begun
  }
  const waiting = Array.from({ length: 20 }, () =>
    other.flights.fly({ key: KEY, id: newId(), isSame, prepare }),
  )
  await new Promise(resolve => setTimeout(resolve, 10))
  one.claims.clear(2)
  await until('one has sent', () => sent === 1)
  end(ACCEPTED)
  store(true)
  const ends = await Promise.all(waiting)
  t.equal(ends.filter(one => typeof one !== 'string' && one.joined === null).length, 1)
  t.equal(sent, 1)
})

t.test('a bundle that cannot be sent leaves no claim', async t => {
  const { one, other, newId } = openTwo()
  t.equal(await one.flights.fly({ key: KEY, id: newId(), isSame, prepare: () => 'full' }), 'full')
  await t.rejects(one.flights.fly({ key: KEY, id: newId(), isSame, prepare: never }), /it flew/)
  t.type(other.claims.take(KEY), 'object')
})

t.test('another bundle with the same claim is waited for, and not joined', async t => {
  const { one, other, newId, stored } = openTwo()
  const id = newId()
  const { begun, end, store } = toBegun()
  const first = one.flights.fly({ key: KEY, id, isSame, prepare: () => () => begun })
  stored.set(formatId(id), { ...ACCEPTED, bundleId: 'another' })
  const own = toBegun()
  const waiting = other.flights.fly({
    key: KEY,
    id: newId(),
    isSame,
    prepare: () => () => own.begun,
  })
  await new Promise(resolve => setTimeout(resolve, 10))
  end({ ...ACCEPTED, bundleId: 'another' })
  await first
  store(true)
  own.end(ACCEPTED)
  t.match(await waiting, { joined: null })
  own.store(true)
})

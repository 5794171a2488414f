import { createHash } from 'node:crypto'
import bs58 from 'bs58'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { LOCK_TABLE_WORDS, LockTable } from '../../../src/submission/single-flight/lock-table.js'
import {
  SingleFlight,
  type StartedSend,
} from '../../../src/submission/single-flight/single-flight.js'
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

/** An engine that answers a bundle when the test says so. */
const openHolding = async (t: Test, options: Partial<MachineOptions> = {}) => {
  const replies: (() => void)[] = []
  const script: Script = (socket, { body }) => {
    const { params } = JSON.parse(body.toString())
    const result = idOf(params[0])
    replies.push(() => socket.write(answer(JSON.stringify({ jsonrpc: '2.0', result, id: 1 }))))
  }
  const engine = await openRawUpstream(t, script)
  const machine = await openMachine(t, { urls: [engine.url], edgeCount: 2, ...options })
  const [one, other = machine.edges[0]] = machine.edges
  return {
    engine,
    replies,
    one,
    other,
    machine,
    release: () => replies.splice(0).forEach(go => go()),
  }
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

t.test('the same bundle at one edge is sent once, and every request is answered', async t => {
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
  t.equal(one.meterEvents.filter(word => word === 'joined').length, 2)

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
  t.equal(other.meterEvents.filter(word => word === 'joined').length, 2)
})

t.test('an engine’s error is shared in full, and so is an unknown outcome', async t => {
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
  const replies: (() => void)[] = []
  let said: Buffer = Buffer.alloc(0)
  const engine = await openRawUpstream(t, socket => void replies.push(() => socket.write(said)))
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
    replies.splice(0).forEach(go => go())
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

t.test('a bundle that was answered is sent again when it is submitted again', async t => {
  const { engine, one, other, replies } = await openHolding(t)
  const bundle = toBundle('/relay-bundle')
  const timer = setInterval(() => replies.splice(0).forEach(go => go()), 1)
  t.teardown(() => clearInterval(timer))
  for (let round = 0; round < 30; round++) {
    const { port } = round % 3 === 0 ? one : other
    const { json } = await post(port, '/relay-bundle', sendBundle('/relay-bundle', bundle))
    t.equal(json.result, idOf(bundle))
    t.equal(engine.received.length, round + 1)
  }
})

t.test('a bundle whose client disconnects is sent once, and others get the answer', async t => {
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
  await until('its outcome is stored', () => one.store.stats().inFlight === 0)
})

const KEY = createHash('sha256').update('key').digest()

/** Two edges that share only locks, and records that the test stores. */
const openTwo = () => {
  const words = new BigInt64Array(LOCK_TABLE_WORDS)
  const clock = { ms: 0 }
  const stored = new Map<string, Submission>()
  const read = (_edge: number, id: Uint8Array) => stored.get(formatId(id))
  const create = (edgeIndex: number) => {
    const locks = new LockTable({ words, edgeIndex, lockSecondsMax: 60, nowSeconds: () => 0 })
    const options = { followPollMs: 1, followMs: 1_000 }
    const modules = { locks, read, now: () => clock.ms }
    return { locks, singleFlight: new SingleFlight(options, modules) }
  }
  return { clock, stored, one: create(0), other: create(1), newId: createIds(() => 5) }
}
const isSame = ({ bundleId }: Submission): boolean => bundleId === PENDING.bundleId
const never = (): never => {
  throw new Error('it was sent')
}
/** A send that the test ends. */
const toStarted = () => {
  let end: (submission: Submission) => void = () => {}
  let store: (isStored: boolean) => void = () => {}
  const started: StartedSend = {
    ended: new Promise(resolve => (end = resolve)),
    stored: new Promise(resolve => (store = resolve)),
  }
  return {
    started,
    end: (last: Submission) => end(last),
    store: (isStored: boolean) => store(isStored),
  }
}

t.test('a bundle whose edge died before sending is sent by the next edge', async t => {
  const { one, other, newId } = openTwo()
  const lock = one.locks.tryAcquire(KEY)
  const waiting = other.singleFlight.run({
    key: KEY,
    id: newId(),
    isSame,
    prepare: () => () => ({ ended: Promise.resolve(ACCEPTED), stored: Promise.resolve(true) }),
  })
  await new Promise(resolve => setTimeout(resolve, 20))
  t.type(lock, 'object')
  // What the edge does when it starts again.
  one.locks.releaseStale(2)
  t.strictSame(await waiting, { ending: ACCEPTED, joined: null })
})

t.test('a send whose edge dies has an unknown outcome and is not repeated', async t => {
  const { one, other, newId, stored } = openTwo()
  const id = newId()
  const { started } = toStarted()
  void one.singleFlight.run({ key: KEY, id, isSame, prepare: () => () => started })
  const waiting = other.singleFlight.run({ key: KEY, id: newId(), isSame, prepare: never })
  await new Promise(resolve => setTimeout(resolve, 20))
  // It starts again: it first recovers the write-ahead log, then releases its locks.
  const unknown: Submission = { ...PENDING, outcome: 'unknown' }
  stored.set(formatId(id), unknown)
  one.locks.releaseStale(2)
  t.strictSame(await waiting, { ending: unknown, joined: formatId(id) })
})

t.test('an outcome that cannot be stored is unknown to other edges', async t => {
  const { one, other, newId } = openTwo()
  const { started, end, store } = toStarted()
  const first = one.singleFlight.run({
    key: KEY,
    id: newId(),
    isSame,
    prepare: () => () => started,
  })
  const waiting = other.singleFlight.run({ key: KEY, id: newId(), isSame, prepare: never })
  await new Promise(resolve => setTimeout(resolve, 20))
  end(ACCEPTED)
  t.strictSame(await first, { ending: ACCEPTED, joined: null })
  store(false)
  t.equal(await waiting, 'unknown')
})

t.test('a send that never ends is followed for a bounded time', async t => {
  const { one, other, newId, clock } = openTwo()
  const { started } = toStarted()
  void one.singleFlight.run({ key: KEY, id: newId(), isSame, prepare: () => () => started })
  const waiting = other.singleFlight.run({ key: KEY, id: newId(), isSame, prepare: never })
  await new Promise(resolve => setTimeout(resolve, 10))
  clock.ms = 1_001
  t.equal(await waiting, 'unknown')
})

t.test('a bundle that arrives between an outcome and its storing is sent again', async t => {
  const { one, other, newId, stored } = openTwo()
  const begins = [toStarted(), toStarted(), toStarted()] as const
  const ids = [newId(), newId(), newId()] as const
  const first = one.singleFlight.run({
    key: KEY,
    id: ids[0],
    isSame,
    prepare: () => () => begins[0].started,
  })
  begins[0].end(ACCEPTED)
  await first
  // At another edge: it must not get the outcome of a send that had ended when it arrived.
  let isWaiting = true
  const second = other.singleFlight.run({
    key: KEY,
    id: ids[1],
    isSame,
    prepare: () => () => begins[1].started,
  })
  void second.then(() => (isWaiting = false))
  stored.set(formatId(ids[0]), ACCEPTED)
  await new Promise(resolve => setTimeout(resolve, 10))
  t.ok(isWaiting)
  begins[0].store(true)
  await until('the other edge sends', () => other.locks.owner(KEY)?.edge === 1)
  begins[1].end(ACCEPTED)
  t.match(await second, { joined: null })
  begins[1].store(true)
  await until('it is over', () => one.locks.owner(KEY) === undefined)

  // At the same edge: storing the first outcome must not release the second lock.
  const again = [toStarted(), toStarted()] as const
  const third = one.singleFlight.run({
    key: KEY,
    id: ids[2],
    isSame,
    prepare: () => () => again[0].started,
  })
  again[0].end(ACCEPTED)
  await third
  const fourth = one.singleFlight.run({
    key: KEY,
    id: newId(),
    isSame,
    prepare: () => () => again[1].started,
  })
  again[0].store(true)
  await new Promise(resolve => setTimeout(resolve, 10))
  t.equal(other.locks.tryAcquire(KEY), 'locked')
  again[1].end(ACCEPTED)
  await fourth
  again[1].store(true)
  await until('it is over', () => one.locks.owner(KEY) === undefined)
})

t.test('requests that follow another edge poll it together, and none of them sends', async t => {
  const { one, other, newId, stored } = openTwo()
  const id = newId()
  const { started, end, store } = toStarted()
  const first = one.singleFlight.run({ key: KEY, id, isSame, prepare: () => () => started })
  let asked = 0
  const isCounted = (submission: Submission): boolean => {
    asked++
    return isSame(submission)
  }
  stored.set(formatId(id), PENDING)
  const waiting = Array.from({ length: 500 }, () =>
    other.singleFlight.run({ key: KEY, id: newId(), isSame: isCounted, prepare: never }),
  )
  await new Promise(resolve => setTimeout(resolve, 30))
  t.ok(asked > 1 && asked < 100, `${asked} reads`)
  end(ACCEPTED)
  await first
  stored.set(formatId(id), ACCEPTED)
  store(true)
  for (const one of await Promise.all(waiting))
    t.strictSame(one, { ending: ACCEPTED, joined: formatId(id) })
})

t.test('of the requests that followed an edge that died before it sent, one sends', async t => {
  const { one, other, newId } = openTwo()
  one.locks.tryAcquire(KEY)
  const { started, end, store } = toStarted()
  let sent = 0
  const prepare = () => () => {
    sent++
    return started
  }
  const waiting = Array.from({ length: 20 }, () =>
    other.singleFlight.run({ key: KEY, id: newId(), isSame, prepare }),
  )
  await new Promise(resolve => setTimeout(resolve, 10))
  one.locks.releaseStale(2)
  await until('one has sent', () => sent === 1)
  end(ACCEPTED)
  store(true)
  const ends = await Promise.all(waiting)
  t.equal(ends.filter(one => typeof one !== 'string' && one.joined === null).length, 1)
  t.equal(sent, 1)
})

t.test('a bundle that cannot be sent leaves no lock', async t => {
  const { one, other, newId } = openTwo()
  t.equal(
    await one.singleFlight.run({ key: KEY, id: newId(), isSame, prepare: () => 'full' }),
    'full',
  )
  await t.rejects(
    one.singleFlight.run({ key: KEY, id: newId(), isSame, prepare: never }),
    /it was sent/,
  )
  t.type(other.locks.tryAcquire(KEY), 'object')
})

t.test('another bundle with the same lock is waited for, and not joined', async t => {
  const { one, other, newId, stored } = openTwo()
  const id = newId()
  const { started, end, store } = toStarted()
  const first = one.singleFlight.run({ key: KEY, id, isSame, prepare: () => () => started })
  stored.set(formatId(id), { ...ACCEPTED, bundleId: 'another' })
  const own = toStarted()
  const waiting = other.singleFlight.run({
    key: KEY,
    id: newId(),
    isSame,
    prepare: () => () => own.started,
  })
  await new Promise(resolve => setTimeout(resolve, 10))
  end({ ...ACCEPTED, bundleId: 'another' })
  await first
  store(true)
  own.end(ACCEPTED)
  t.match(await waiting, { joined: null })
  own.store(true)
})

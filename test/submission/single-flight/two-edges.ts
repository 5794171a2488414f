import { createHash } from 'node:crypto'
import t from 'tap'
import { LOCK_TABLE_WORDS, LockTable } from '../../../src/submission/single-flight/lock-table.js'
import {
  SingleFlight,
  type StartedSend,
} from '../../../src/submission/single-flight/single-flight.js'
import { createIds, formatId } from '../../../src/submission/store/submission-id.js'
import type { Submission } from '../../../src/submission/store/submission.js'
import { ACCEPTED, PENDING } from '../../fixtures/submission/submission.js'
import { until } from '../../fixtures/until.js'

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

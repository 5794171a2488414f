import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import {
  LOCK_TABLE_WORDS,
  LockTable,
  type Lock,
} from '../../../src/submission/single-flight/lock-table.js'
import { scriptPath } from '../../fixtures/repository.js'

const key = (name: string): Uint8Array => createHash('sha256').update(name).digest()
const ID = Uint8Array.from({ length: 16 }, (_, index) => index + 1)
const OTHER_ID = Uint8Array.from({ length: 16 }, (_, index) => 100 + index)

const open = (edgeCount = 2) => {
  const words = new BigInt64Array(LOCK_TABLE_WORDS)
  const clock = { seconds: 70_000 }
  const nowSeconds = () => clock.seconds
  const create = (edgeIndex: number): LockTable =>
    new LockTable({ words, edgeIndex, lockSecondsMax: 20, nowSeconds })
  return { words, clock, create, edges: Array.from({ length: edgeCount }, (_, i) => create(i)) }
}

const acquired = (locks: LockTable, name: string): Lock => {
  const lock = locks.tryAcquire(key(name))
  if (typeof lock === 'string') throw new Error(`${name} is ${lock}`)
  return lock
}

t.test('a lock belongs to one edge until it is released', t => {
  const [one, other] = open().edges as [LockTable, LockTable]
  const lock = acquired(one, 'a')
  t.equal(other.tryAcquire(key('a')), 'locked')
  t.equal(one.tryAcquire(key('a')), 'locked', 'also for the same edge')
  acquired(other, 'b')
  one.release(lock)
  t.equal(other.owner(key('a')), undefined)
  acquired(other, 'a')
  t.end()
})

t.test('an edge that was stopped after it read the clock releases no lock of another one', t => {
  const { words, clock, create } = open()
  const other = create(1)
  const nowSeconds = (): number => {
    const seconds = clock.seconds
    // Stopped here for a second, in which the other edge locks the bundle.
    clock.seconds = 70_001
    if (seconds === 70_000) acquired(other, 'a')
    return seconds
  }
  const stopped = new LockTable({ words, edgeIndex: 0, lockSecondsMax: 20, nowSeconds })
  t.equal(stopped.tryAcquire(key('a')), 'locked')
  t.equal(other.owner(key('a'))?.edge, 1)
  t.end()
})

t.test('a lock names its submission only while that is in flight', t => {
  const [one, other] = open().edges as [LockTable, LockTable]
  const lock = acquired(one, 'a')
  t.strictSame(other.owner(key('a')), { edge: 0, id: undefined }, 'not begun')
  one.setSubmission(lock, ID)
  t.strictSame(other.owner(key('a')), { edge: 0, id: ID })
  one.clearSubmission(lock)
  t.strictSame(other.owner(key('a')), { edge: 0, id: undefined }, 'ended')
  one.setSubmission(lock, OTHER_ID)
  t.strictSame(other.owner(key('a')), { edge: 0, id: OTHER_ID }, 'begun again under the same lock')
  one.release(lock)
  acquired(other, 'a')
  t.strictSame(
    one.owner(key('a')),
    { edge: 1, id: undefined },
    'the next lock has no id of the last one',
  )
  t.end()
})

t.test(
  'a lock expires after every time-out, and its edge cannot release that of another edge',
  t => {
    const { clock, edges } = open()
    const [one, other] = edges as [LockTable, LockTable]
    const old = acquired(one, 'a')
    one.setSubmission(old, ID)
    clock.seconds += 20
    t.equal(other.tryAcquire(key('a')), 'locked')
    clock.seconds += 1
    const lock = acquired(other, 'a')
    other.setSubmission(lock, OTHER_ID)
    one.clearSubmission(old)
    one.release(old)
    t.strictSame(one.owner(key('a')), { edge: 1, id: OTHER_ID })
    t.end()
  },
)

t.test('the clock may pass the end of its 16 bits', t => {
  const { clock, edges } = open()
  const [one, other] = edges as [LockTable, LockTable]
  clock.seconds = 65_535
  acquired(one, 'a')
  clock.seconds += 10
  t.equal(other.tryAcquire(key('a')), 'locked')
  t.end()
})

t.test('an edge that starts releases its own locks and those of edges that no longer exist', t => {
  const { create } = open()
  for (const [index, name] of ['a', 'b', 'c'].entries()) acquired(create(index), name)
  create(0).releaseStale(2)
  const edge = create(0)
  t.strictSame(
    ['a', 'b', 'c'].map(name => edge.owner(key(name)) !== undefined),
    [false, true, false],
  )
  t.end()
})

t.test('a bucket without a free slot is full', t => {
  const [one] = open().edges as [LockTable, LockTable]
  const same = (last: number): Uint8Array => {
    const bytes = Uint8Array.from(key('bucket'))
    bytes[0] = last
    return bytes
  }
  const locks = Array.from({ length: 7 }, (_, index) => one.tryAcquire(same(index)))
  t.ok(locks.every(lock => typeof lock === 'object'))
  t.equal(one.tryAcquire(same(7)), 'full')
  const [first] = locks
  if (typeof first === 'object') one.release(first)
  t.equal(one.tryAcquire(same(6)), 'locked', 'also where a slot before it is free')
  t.type(one.tryAcquire(same(7)), 'object')
  t.end()
})

t.test('a bundle has at most one owner, and every slot is free in the end', t => {
  const step = fc.record({
    edge: fc.nat(2),
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    isAcquire: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const { words, edges } = open(3)
      const owners = new Map<string, { edge: number; lock: Lock }>()
      for (const { edge, name, isAcquire } of steps) {
        const locks = edges[edge]
        const owner = owners.get(name)
        if (locks === undefined) continue
        if (isAcquire) {
          const lock = locks.tryAcquire(key(name))
          if (typeof lock === 'object' && owner !== undefined) return false
          if (typeof lock === 'object') owners.set(name, { edge, lock })
        } else if (owner !== undefined) {
          edges[owner.edge]?.release(owner.lock)
          owners.delete(name)
        }
        if ([...owners.keys()].some(one => locks.owner(key(one)) === undefined)) return false
      }
      for (const { edge, lock } of owners.values()) edges[edge]?.release(lock)
      // What is left are the counts, one in each bucket.
      return words.filter(word => word !== 0n).length <= 4
    }),
  )
  t.end()
})

t.test('processes that lock the same bundles at once never have the same lock', async t => {
  const file = `${t.testdir()}/lock-table`
  const script = scriptPath('test/fixtures/submission/lock-contender')
  const race = async (edge: number): Promise<{ acquired: number; shared: number }> => {
    const args = [...process.execArgv, script, file, String(edge), '20000']
    const racer = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const chunks = await racer.stdout.toArray()
    return JSON.parse(chunks.join(''))
  }
  const results = await Promise.all([0, 1, 2].map(race))
  for (const { acquired, shared } of results) {
    t.ok(acquired > 1_000, `${acquired} times`)
    t.equal(shared, 0)
  }
})

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import {
  CLAIM_WORDS,
  createClaims,
  type Claim,
  type Claims,
} from '../../../src/submission/single-flight/lock-table.js'

const key = (name: string): Uint8Array => createHash('sha256').update(name).digest()
const ID = Uint8Array.from({ length: 16 }, (_, index) => index + 1)
const OTHER_ID = Uint8Array.from({ length: 16 }, (_, index) => 100 + index)

const open = (edgeCount = 2) => {
  const words = new BigInt64Array(CLAIM_WORDS)
  const clock = { seconds: 70_000 }
  const nowSeconds = () => clock.seconds
  const create = (edgeIndex: number): Claims =>
    createClaims({ words, edgeIndex, claimSecondsMax: 20, nowSeconds })
  return { words, clock, create, edges: Array.from({ length: edgeCount }, (_, i) => create(i)) }
}

const taken = (claims: Claims, name: string): Claim => {
  const claim = claims.take(key(name))
  if (typeof claim === 'string') throw new Error(`${name} is ${claim}`)
  return claim
}

t.test('a bundle is one edge’s until it is released', t => {
  const [one, other] = open().edges as [Claims, Claims]
  const claim = taken(one, 'a')
  t.equal(other.take(key('a')), 'held')
  t.equal(one.take(key('a')), 'held', 'also for the same edge')
  taken(other, 'b')
  one.release(claim)
  t.equal(other.holder(key('a')), undefined)
  taken(other, 'a')
  t.end()
})

t.test('who comes learns whom it joins only while the flight lasts', t => {
  const [one, other] = open().edges as [Claims, Claims]
  const claim = taken(one, 'a')
  t.strictSame(other.holder(key('a')), { edge: 0, id: undefined }, 'not begun')
  one.begin(claim, ID)
  t.strictSame(other.holder(key('a')), { edge: 0, id: ID })
  one.end(claim)
  t.strictSame(other.holder(key('a')), { edge: 0, id: undefined }, 'ended')
  one.begin(claim, OTHER_ID)
  t.strictSame(
    other.holder(key('a')),
    { edge: 0, id: OTHER_ID },
    'begun again under the same claim',
  )
  one.release(claim)
  taken(other, 'a')
  t.strictSame(
    one.holder(key('a')),
    { edge: 1, id: undefined },
    'the next claim has no id of the last one',
  )
  t.end()
})

t.test(
  'a claim that outlives every time-out is nobody’s, and its edge cannot let go another’s',
  t => {
    const { clock, edges } = open()
    const [one, other] = edges as [Claims, Claims]
    const old = taken(one, 'a')
    one.begin(old, ID)
    clock.seconds += 20
    t.equal(other.take(key('a')), 'held')
    clock.seconds += 1
    const claim = taken(other, 'a')
    other.begin(claim, OTHER_ID)
    one.end(old)
    one.release(old)
    t.strictSame(one.holder(key('a')), { edge: 1, id: OTHER_ID })
    t.end()
  },
)

t.test('the clock may pass the end of its 16 bits', t => {
  const { clock, edges } = open()
  const [one, other] = edges as [Claims, Claims]
  clock.seconds = 65_535
  taken(one, 'a')
  clock.seconds += 10
  t.equal(other.take(key('a')), 'held')
  t.end()
})

t.test('an edge that starts lets go what it held, and what no edge holds any more', t => {
  const { create } = open()
  for (const [index, name] of ['a', 'b', 'c'].entries()) taken(create(index), name)
  create(0).clear(2)
  const edge = create(0)
  t.strictSame(
    ['a', 'b', 'c'].map(name => edge.holder(key(name)) !== undefined),
    [false, true, false],
  )
  t.end()
})

t.test('a bucket without a place says so', t => {
  const [one] = open().edges as [Claims, Claims]
  const same = (last: number): Uint8Array => {
    const bytes = Uint8Array.from(key('bucket'))
    bytes[0] = last
    return bytes
  }
  const claims = Array.from({ length: 7 }, (_, index) => one.take(same(index)))
  t.ok(claims.every(claim => typeof claim === 'object'))
  t.equal(one.take(same(7)), 'full')
  const [first] = claims
  if (typeof first === 'object') one.release(first)
  t.equal(one.take(same(6)), 'held', 'also where a place before it is free')
  t.type(one.take(same(7)), 'object')
  t.end()
})

t.test('whatever edges do, a bundle has one holder, and all is free in the end', t => {
  const step = fc.record({
    edge: fc.nat(2),
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    isTake: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const { words, edges } = open(3)
      const held = new Map<string, { edge: number; claim: Claim }>()
      for (const { edge, name, isTake } of steps) {
        const claims = edges[edge]
        const holder = held.get(name)
        if (claims === undefined) continue
        if (isTake) {
          const claim = claims.take(key(name))
          if (typeof claim === 'object' && holder !== undefined) return false
          if (typeof claim === 'object') held.set(name, { edge, claim })
        } else if (holder !== undefined) {
          edges[holder.edge]?.release(holder.claim)
          held.delete(name)
        }
        if ([...held.keys()].some(one => claims.holder(key(one)) === undefined)) return false
      }
      for (const { edge, claim } of held.values()) edges[edge]?.release(claim)
      // What is left are the counts, one in each bucket.
      return words.filter(word => word !== 0n).length <= 4
    }),
  )
  t.end()
})

t.test('processes that claim the same bundles at once never hold one together', async t => {
  const file = `${t.testdir()}/claims`
  const script = fileURLToPath(
    new URL('../../fixtures/submission/claims-racer.ts', import.meta.url),
  )
  const race = async (edge: number): Promise<{ held: number; shared: number }> => {
    const args = [...process.execArgv, script, file, String(edge), '20000']
    const racer = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const chunks = await racer.stdout.toArray()
    return JSON.parse(chunks.join(''))
  }
  const results = await Promise.all([0, 1, 2].map(race))
  for (const { held, shared } of results) {
    t.ok(held > 1_000, `${held} times`)
    t.equal(shared, 0)
  }
})

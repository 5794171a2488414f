import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  FULL,
  limitedAccess,
  openLimitTable,
  readUtilisation,
  type LimitTable,
} from '../../../src/access/limiter/limit-table.js'
import { mapLimitTable, type LimitedAccess } from '../../../src/native/access/limits.js'
import type { Grant } from '../../../src/shared/grant.js'
import { NOW_MS } from '../../fixtures/access/access.js'
import { grantOf } from '../../fixtures/access/grant.js'

const UNUSED = { requestsInFlight: 0, sockets: 0, subscriptions: 0, subscriptionsOfSocket: 0 }

/** Gives the accesses of grants at one edge. */
type Edge = (grant: Grant) => LimitedAccess

const edgeOf =
  (table: LimitTable, index: number): Edge =>
  grant =>
    limitedAccess(table, grant, index)

/** All edges of a machine, on one file. */
const openEdges = (t: Test, edgeCount = 1, accessesMax = 8): Edge[] => {
  const dir = t.testdir()
  return Array.from({ length: edgeCount }, (_, index) =>
    edgeOf(openLimitTable(dir, edgeCount, { accessesMax }), index),
  )
}

/** Sends one request that ends at once; true if it was admitted. */
const pass = (access: LimitedAccess, nowMs: number): boolean => {
  const exceeded = access.acquire(() => nowMs)
  if (exceeded === undefined) access.release(1)
  return exceeded === undefined
}

const passAll = (access: LimitedAccess, nowMs: number, count: number): number =>
  Array.from({ length: count }, () => pass(access, nowMs)).filter(Boolean).length

t.test('a burst, then one request for each interval', async t => {
  const [edge] = openEdges(t)
  if (edge === undefined) return
  const state = edge(grantOf({}))
  t.equal(passAll(state, NOW_MS, 20), 5, 'the burst')
  t.notOk(pass(state, NOW_MS + 99), 'before the first interval is over')
  t.ok(pass(state, NOW_MS + 100))
  t.notOk(pass(state, NOW_MS + 100))
  t.equal(passAll(state, NOW_MS + 10_000, 20), 5, 'after a pause the burst again, and no more')
})

t.test('a refusal names the limit and when to try again', async t => {
  const [edge] = openEdges(t)
  if (edge === undefined) return
  const state = edge(grantOf({ requestsBurstMax: 1, requestsInFlightMax: 1 }))
  t.equal(
    state.acquire(() => NOW_MS),
    undefined,
  )
  t.strictSame(
    state.acquire(() => NOW_MS + 1_000),
    {
      limit: 'requestsInFlightMax',
      max: 1,
      remaining: 0,
      retryAfterMs: 1_000,
    },
  )
  state.release(1)
  const exceeded = state.acquire(() => NOW_MS + 25)
  t.match(exceeded, { limit: 'requestsPerSecondMax', max: 10, remaining: 0 })
  t.ok(typeof exceeded === 'object' && Math.abs((exceeded.retryAfterMs ?? 0) - 75) < 1)
  const none = edge(grantOf({ requestsPerSecondMax: 0 }, 'acc_none'))
  t.match(
    none.acquire(() => NOW_MS),
    { limit: 'requestsPerSecondMax', max: 0, remaining: 0 },
  )
})

t.test('a batch counts all its calls or none', async t => {
  const [edge] = openEdges(t)
  if (edge === undefined) return
  const state = edge(grantOf({ requestsInFlightMax: 4 }))
  const batch = (calls: number, atOnce: number) => {
    const exceeded = state.acquire(() => nowMs)
    if (exceeded !== undefined) return exceeded
    const granted = state.acquireBatch(calls, atOnce, () => nowMs)
    state.release(typeof granted === 'number' ? granted : 1)
    return granted
  }
  let nowMs = NOW_MS
  t.match(batch(6, 1), { limit: 'requestsBurstMax', max: 5, remaining: 4 }, 'longer than the burst')
  t.equal(batch(4, 4), 4, 'the refused one is charged as one request')
  t.match(batch(1, 1), { limit: 'requestsPerSecondMax' })
  nowMs += 1_000
  t.equal(batch(5, 5), 4, 'no more than the access may have in flight')
  nowMs += 1_000
  const open = state.acquire(() => nowMs)
  t.equal(open, undefined)
  t.equal(batch(3, 8), 3, 'beside another request')
  state.release(1)
})

t.test('a reply is charged one burst at most, and to one burst beyond it', async t => {
  const [edge] = openEdges(t)
  if (edge === undefined) return
  const state = edge(grantOf({ requestsBurstMax: 3 }))
  const charge = (from: number, to: number, nowMs = NOW_MS): void =>
    state.chargeReply(from, to, () => nowMs)
  t.ok(pass(state, NOW_MS))
  charge(1, 1)
  charge(1, 2)
  t.ok(pass(state, NOW_MS), 'one of the burst was left')
  charge(1, 1e9)
  t.notOk(pass(state, NOW_MS + 299))
  t.ok(pass(state, NOW_MS + 300), 'two beyond the burst, and the next')
  for (let nth = 0; nth < 3; nth++) charge(1, 1e9, NOW_MS + 300)
  t.notOk(pass(state, NOW_MS + 699))
  t.ok(pass(state, NOW_MS + 700), 'the debt is one burst, whatever is charged')
})

t.test('edges of a machine share a rate', async t => {
  const edges = openEdges(t, 3)
  const grant = grantOf({ requestsPerSecondMax: 1_000, requestsBurstMax: 50 })
  const states = edges.map(edge => edge(grant))
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(2), fc.nat(3)), { minLength: 200 }), steps => {
      let nowMs = NOW_MS + 1e6
      let passed = 0
      for (const [edge, waitMs] of steps) {
        nowMs += waitMs
        const state = states[edge]
        if (state !== undefined && pass(state, nowMs)) passed++
      }
      // The property runs again on the same table, after a pause in which the burst recovers.
      return passed <= 50 + (nowMs - NOW_MS - 1e6) + 1
    }),
    { numRuns: 1 },
  )
})

t.test(
  'edges of a machine share requests in flight, and those of an ended edge are cleared',
  async t => {
    const [one, two] = openEdges(t, 2)
    if (one === undefined || two === undefined) return
    const grant = grantOf({ requestsInFlightMax: 3, requestsBurstMax: 100 })
    const [first, second] = [one(grant), two(grant)]
    t.equal(
      first.acquire(() => NOW_MS),
      undefined,
    )
    t.equal(
      first.acquire(() => NOW_MS),
      undefined,
    )
    t.equal(
      second.acquire(() => NOW_MS),
      undefined,
    )
    t.match(
      second.acquire(() => NOW_MS),
      { limit: 'requestsInFlightMax', max: 3 },
    )
    t.match(
      first.acquire(() => NOW_MS),
      { limit: 'requestsInFlightMax', max: 3 },
    )
    const table = openLimitTable(t.testdirName, 2, { accessesMax: 8 })
    t.strictSame(readUtilisation(table, 'acc_1'), { ...UNUSED, requestsInFlight: 3 })
    table.clearEdge(0)
    t.strictSame(readUtilisation(table, 'acc_1'), { ...UNUSED, requestsInFlight: 1 })
    t.equal(
      second.acquire(() => NOW_MS),
      undefined,
    )
    second.release(2)
    t.strictSame(readUtilisation(table, 'acc_1'), UNUSED)
    t.strictSame(readUtilisation(table, 'acc_other'), UNUSED)
  },
)

t.test('sockets have their own limit', async t => {
  const [one, two] = openEdges(t, 2)
  if (one === undefined || two === undefined) return
  const [first, second] = [one(grantOf({})), two(grantOf({}))]
  t.equal(first.acquireSocket(NOW_MS), undefined)
  t.equal(second.acquireSocket(NOW_MS), undefined)
  t.match(first.acquireSocket(NOW_MS), { limit: 'socketsMax', max: 2 })
  second.releaseSocket()
  t.equal(first.acquireSocket(NOW_MS), undefined)
})

t.test('a clock that is set back leaves the burst used up', async t => {
  const [edge] = openEdges(t)
  if (edge === undefined) return
  const state = edge(grantOf({}))
  t.equal(passAll(state, NOW_MS + 3_600_000, 20), 5)
  t.notOk(pass(state, NOW_MS + 1), 'set back by an hour')
  t.ok(pass(state, NOW_MS + 101), 'and an interval later one request')
  t.notOk(pass(state, NOW_MS + 101))
})

t.test('clock skew between edges adds no requests', async t => {
  const [one, two] = openEdges(t, 2)
  if (one === undefined || two === undefined) return
  const [first, second] = [one(grantOf({})), two(grantOf({}))]
  let passed = 0
  for (let ms = 0; ms <= 1_000; ms += 10)
    passed += passAll(first, NOW_MS + ms, 3) + passAll(second, NOW_MS + ms - 40, 3)
  t.equal(passed, 15, 'the burst, and ten in a second')
})

t.test('smaller limits apply at once after more was used', async t => {
  const [edge] = openEdges(t)
  if (edge === undefined) return
  const larger = edge(grantOf({ requestsBurstMax: 1_000 }))
  t.equal(passAll(larger, NOW_MS, 1_000), 1_000)
  const smaller = edge(grantOf({ requestsPerSecondMax: 100, requestsBurstMax: 2 }))
  t.notOk(pass(smaller, NOW_MS))
  t.ok(pass(smaller, NOW_MS + 10), 'the debt of the former limits is dropped')
})

t.test('high rates are exact', async t => {
  const [edge] = openEdges(t)
  if (edge === undefined) return
  const state = edge(grantOf({ requestsPerSecondMax: 1_000_000, requestsBurstMax: 1_000 }))
  const startMs = NOW_MS + 365 * 86_400_000
  let passed = 0
  for (let ms = 0; ms < 100; ms++) passed += passAll(state, startMs + ms, 1_100)
  t.ok(Math.abs(passed - 100_000) < 1_000, `${passed} of 100,000`)
})

t.test('a burst shorter than a clock tick admits requests at an even rate', async t => {
  const [edge] = openEdges(t)
  if (edge === undefined) return
  const state = edge(grantOf({ requestsPerSecondMax: 10_000, requestsBurstMax: 1 }))
  let passed = 0
  const startMs = Date.now()
  for (let ms = 0; ms < 50; ms++) passed += passAll(state, startMs + ms, 10)
  t.equal(passed, 500)
})

t.test('a new access gets the row of an idle one, never of one in use', async t => {
  const [one, two] = openEdges(t, 2, 8)
  if (one === undefined || two === undefined) return
  const grants = Array.from({ length: 20 }, (_, index) => grantOf({}, `acc_${index}`))
  const states = grants.slice(0, 8).map(one)
  for (const state of states)
    t.equal(
      state.acquire(() => NOW_MS),
      undefined,
    )
  t.equal(
    two(grantOf({}, 'acc_9')).acquire(() => NOW_MS),
    FULL,
    'all eight have requests in flight',
  )
  for (const state of states) state.release(1)
  t.equal(
    two(grantOf({}, 'acc_9')).acquire(() => NOW_MS),
    FULL,
    'none in flight, but bursts not recovered',
  )
  for (const [nth, grant] of grants.slice(8).entries())
    t.ok(pass(two(grant), NOW_MS + 10_000 * (nth + 1)), grant.accessId)
  // The first edge still has the rows of the first eight, now assigned to others.
  for (const state of states)
    t.equal(
      state.acquire(() => NOW_MS + 200_000),
      undefined,
    )
  const table = openLimitTable(t.testdirName, 2, { accessesMax: 8 })
  for (const [nth, state] of states.entries()) {
    const inUse = () => readUtilisation(table, `acc_${nth}`)
    t.strictSame(inUse(), { ...UNUSED, requestsInFlight: 1 })
    state.release(1)
    t.strictSame(inUse(), UNUSED)
  }
})

t.test('more rows than the file can hold are refused with the name of the option', async t => {
  const open = (): unknown => openLimitTable(t.testdir(), 256, { accessesMax: 5_000 })
  t.throws(open, /^access\.limits\.accessesMax: at most 4002 with 256 edges, not 5000$/)
})

/** A step of some edges; after each, the table must equal plain counts. */
type Act = {
  readonly kind: 'acquire' | 'release' | 'acquireSocket' | 'releaseSocket'
  readonly edge: number
  readonly access: number
}
type Step =
  | Act
  | { readonly kind: 'kill'; readonly edge: number }
  | { readonly kind: 'wait'; readonly ms: number }

t.test('sums are right after any sequence of operations', async t => {
  const EDGES = 3
  const ACCESSES = 6
  const edge = fc.nat(EDGES - 1)
  const access = fc.nat(ACCESSES - 1)
  const kind = fc.constantFrom(
    'acquire' as const,
    'acquire' as const,
    'release' as const,
    'acquireSocket' as const,
    'releaseSocket' as const,
  )
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 20, arbitrary: fc.record({ kind, edge, access }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), edge }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(300) }) },
  )
  let run = 0
  const property = fc.property(fc.array(step, { maxLength: 300, size: 'max' }), steps => {
    // Fewer rows than accesses: rows are assigned again and again.
    const path = join(t.testdirName, `table ${run++}`)
    const table = mapLimitTable(path, { edgeCount: EDGES, rowCount: 4 })
    const edges = Array.from({ length: EDGES }, (_, index) => edgeOf(table, index))
    const limits = { requestsBurstMax: 20, requestsPerSecondMax: 100, requestsInFlightMax: 3 }
    const makeStates = (edge: Edge) =>
      Array.from({ length: ACCESSES }, (_, nth) => edge(grantOf(limits, `acc_${nth}`)))
    const states = edges.map(makeStates)
    const requests = edges.map(() => new Array<number>(ACCESSES).fill(0))
    const sockets = edges.map(() => new Array<number>(ACCESSES).fill(0))
    const sumOf = (counts: number[][], nth: number): number =>
      counts.reduce((sum, row) => sum + (row[nth] ?? 0), 0)
    let nowMs = NOW_MS
    const act = (state: LimitedAccess, { kind, edge, access }: Act): void => {
      const counts = kind === 'acquire' || kind === 'release' ? requests[edge] : sockets[edge]
      const had = counts?.[access] ?? 0
      if (counts === undefined) return
      if (kind === 'acquire' || kind === 'acquireSocket') {
        const exceeded =
          kind === 'acquire' ? state.acquire(() => nowMs) : state.acquireSocket(nowMs)
        if (exceeded === undefined) counts[access] = had + 1
        const most = kind === 'acquire' ? 3 : 2
        const sum = sumOf(kind === 'acquire' ? requests : sockets, access)
        if (sum > most) throw new Error(`${sum} of ${most} admitted`)
        if (typeof exceeded === 'object' && exceeded.max === most && sum !== most)
          throw new Error(`refused at ${sum} of ${most}`)
      } else if (had > 0) {
        counts[access] = had - 1
        if (kind === 'release') state.release(1)
        else state.releaseSocket()
      }
    }
    for (const one of steps) {
      if (one.kind === 'wait') nowMs += one.ms
      else if (one.kind === 'kill') {
        requests[one.edge]?.fill(0)
        sockets[one.edge]?.fill(0)
        table.clearEdge(one.edge)
        const edge = edges[one.edge]
        if (edge !== undefined) states[one.edge] = makeStates(edge)
      } else {
        const state = states[one.edge]?.[one.access]
        if (state !== undefined) act(state, one)
      }
      for (let nth = 0; nth < ACCESSES; nth++) {
        const used = readUtilisation(table, `acc_${nth}`)
        if (used.requestsInFlight !== sumOf(requests, nth) || used.sockets !== sumOf(sockets, nth))
          throw new Error(`${JSON.stringify(used)} of acc_${nth}`)
      }
    }
  })
  t.testdir()
  t.doesNotThrow(() => fc.assert(property, { numRuns: 200 }))
})

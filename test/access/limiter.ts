import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { LimitTable, keyOfAccess } from '../../src/access/limit-table.js'
import { FULL, Limits, openLimitTable, readLoad, Use } from '../../src/access/limiter.js'
import type { Grant, Limits as Given } from '../../src/shared/grant.js'
import { NOW_MS } from '../fixtures/access/access.js'

const grantOf = (limits: Partial<Given>, accessId = 'acc_1'): Grant => ({
  accessId,
  tokenId: 'tok_1',
  network: 'main',
  location: 'fra',
  limits: {
    requestsPerSecondMax: 10,
    requestsBurstMax: 5,
    requestsInFlightMax: 1_000,
    socketsMax: 2,
    subscriptionsPerSocketMax: 1,
    ...limits,
  },
  validFromMs: 0,
  validUntilMs: Infinity,
  address: undefined,
})

/** Every edge of a machine, over one file. */
const openEdges = (t: Test, edgeCount = 1, accessesMax = 8): Limits[] => {
  const dir = t.testdir()
  return Array.from(
    { length: edgeCount },
    (_, index) => new Limits(openLimitTable(dir, edgeCount, { accessesMax }), index),
  )
}

/** One request that ends at once: true where it was let in. */
const pass = (limits: Limits, use: Use, nowMs: number): boolean => {
  const exceeded = limits.enter(use, nowMs)
  if (exceeded === undefined) limits.leave(use, 1)
  return exceeded === undefined
}

const passAll = (limits: Limits, use: Use, nowMs: number, count: number): number =>
  Array.from({ length: count }, () => pass(limits, use, nowMs)).filter(Boolean).length

t.test('a burst, then one request for each interval', async t => {
  const [limits] = openEdges(t)
  if (limits === undefined) return
  const use = new Use(grantOf({}))
  t.equal(passAll(limits, use, NOW_MS, 20), 5, 'the burst')
  t.notOk(pass(limits, use, NOW_MS + 99), 'before the first interval is over')
  t.ok(pass(limits, use, NOW_MS + 100))
  t.notOk(pass(limits, use, NOW_MS + 100))
  t.equal(
    passAll(limits, use, NOW_MS + 10_000, 20),
    5,
    'after a pause the burst again, and no more',
  )
})

t.test('what is refused says which limit, and when to come again', async t => {
  const [limits] = openEdges(t)
  if (limits === undefined) return
  const use = new Use(grantOf({ requestsBurstMax: 1, requestsInFlightMax: 1 }))
  t.equal(limits.enter(use, NOW_MS), undefined)
  t.strictSame(limits.enter(use, NOW_MS + 1_000), {
    limit: 'requestsInFlightMax',
    max: 1,
    remaining: 0,
    retryAfterMs: 1_000,
  })
  limits.leave(use, 1)
  const exceeded = limits.enter(use, NOW_MS + 25)
  t.match(exceeded, { limit: 'requestsPerSecondMax', max: 10, remaining: 0 })
  t.ok(typeof exceeded === 'object' && Math.abs(exceeded.retryAfterMs - 75) < 1)
  const none = new Use(grantOf({ requestsPerSecondMax: 0 }, 'acc_none'))
  t.match(limits.enter(none, NOW_MS), { limit: 'requestsPerSecondMax', max: 0, remaining: 0 })
})

t.test('a batch counts its calls, or none of them', async t => {
  const [limits] = openEdges(t)
  if (limits === undefined) return
  const use = new Use(grantOf({ requestsInFlightMax: 4 }))
  const batch = (calls: number, atOnce: number) => {
    const exceeded = limits.enter(use, NOW_MS) ?? limits.widen(use, { calls, atOnce }, NOW_MS)
    if (exceeded !== FULL && exceeded?.limit !== 'requestsPerSecondMax') limits.leave(use, 1)
    if (exceeded === undefined) limits.leave(use, atOnce - 1)
    return exceeded
  }
  t.match(batch(6, 1), { limit: 'requestsBurstMax', max: 5, remaining: 5 }, 'it could never pass')
  t.match(batch(5, 5), { limit: 'requestsInFlightMax', max: 4, remaining: 4 })
  t.equal(batch(0, 1), undefined, 'a ping is free')
  t.equal(batch(5, 4), undefined, 'nothing was taken by those before')
  t.match(limits.enter(use, NOW_MS), { limit: 'requestsPerSecondMax' })
})

t.test('edges of a machine share a rate', async t => {
  const edges = openEdges(t, 3)
  const uses = edges.map(
    () => new Use(grantOf({ requestsPerSecondMax: 1_000, requestsBurstMax: 50 })),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(2), fc.nat(3)), { minLength: 200 }), steps => {
      let nowMs = NOW_MS + 1e6
      let passed = 0
      for (const [edge, waitMs] of steps) {
        nowMs += waitMs
        const [limits, use] = [edges[edge], uses[edge]]
        if (limits !== undefined && use !== undefined && pass(limits, use, nowMs)) passed++
      }
      // The property runs again on the same table: the pause before makes the burst whole.
      return passed <= 50 + (nowMs - NOW_MS - 1e6) + 1
    }),
    { numRuns: 1 },
  )
})

t.test('edges of a machine share what is in flight, and a dead one gives its own back', async t => {
  const [one, two] = openEdges(t, 2)
  if (one === undefined || two === undefined) return
  const grant = grantOf({ requestsInFlightMax: 3, requestsBurstMax: 100 })
  const [first, second] = [new Use(grant), new Use(grant)]
  t.equal(one.enter(first, NOW_MS), undefined)
  t.equal(one.enter(first, NOW_MS), undefined)
  t.equal(two.enter(second, NOW_MS), undefined)
  t.match(two.enter(second, NOW_MS), { limit: 'requestsInFlightMax', max: 3 })
  t.match(one.enter(first, NOW_MS), { limit: 'requestsInFlightMax', max: 3 })
  const table = openLimitTable(t.testdirName, 2, { accessesMax: 8 })
  t.strictSame(readLoad(table, 'acc_1'), { requestsInFlight: 3, sockets: 0 })
  table.clearEdge(0)
  t.strictSame(readLoad(table, 'acc_1'), { requestsInFlight: 1, sockets: 0 })
  t.equal(two.enter(second, NOW_MS), undefined)
  two.leave(second, 2)
  t.strictSame(readLoad(table, 'acc_1'), { requestsInFlight: 0, sockets: 0 })
  t.strictSame(readLoad(table, 'acc_other'), { requestsInFlight: 0, sockets: 0 })
})

t.test('sockets have a limit of their own', async t => {
  const [one, two] = openEdges(t, 2)
  if (one === undefined || two === undefined) return
  const [first, second] = [new Use(grantOf({})), new Use(grantOf({}))]
  t.equal(one.openSocket(first, NOW_MS), undefined)
  t.equal(two.openSocket(second, NOW_MS), undefined)
  t.match(one.openSocket(first, NOW_MS), { limit: 'socketsMax', max: 2 })
  two.closeSocket(second)
  t.equal(one.openSocket(first, NOW_MS), undefined)
})

t.test('a clock that jumps locks nobody out', async t => {
  const [limits] = openEdges(t)
  if (limits === undefined) return
  const use = new Use(grantOf({}))
  t.equal(passAll(limits, use, NOW_MS + 3_600_000, 20), 5)
  t.notOk(pass(limits, use, NOW_MS + 1), 'set back by an hour: as if the burst were used up')
  t.ok(pass(limits, use, NOW_MS + 101), 'and an interval later it goes on')
  t.notOk(pass(limits, use, NOW_MS + 101))
})

t.test('an edge that read the clock a little earlier forgives nothing', async t => {
  const [one, two] = openEdges(t, 2)
  if (one === undefined || two === undefined) return
  const [first, second] = [new Use(grantOf({})), new Use(grantOf({}))]
  let passed = 0
  for (let ms = 0; ms <= 1_000; ms += 10)
    passed += passAll(one, first, NOW_MS + ms, 3) + passAll(two, second, NOW_MS + ms - 40, 3)
  t.equal(passed, 15, 'the burst, and ten in a second')
})

t.test('smaller limits hold at once, also where more was used before', async t => {
  const [limits] = openEdges(t)
  if (limits === undefined) return
  t.equal(passAll(limits, new Use(grantOf({ requestsBurstMax: 1_000 })), NOW_MS, 1_000), 1_000)
  const smaller = new Use(grantOf({ requestsPerSecondMax: 100, requestsBurstMax: 2 }))
  t.notOk(pass(limits, smaller, NOW_MS))
  t.ok(pass(limits, smaller, NOW_MS + 10), 'the debt of other limits is forgotten')
})

t.test('high rates are exact', async t => {
  const [limits] = openEdges(t)
  if (limits === undefined) return
  const use = new Use(grantOf({ requestsPerSecondMax: 1_000_000, requestsBurstMax: 1_000 }))
  // A year after the table began a double still holds fractions of microseconds.
  const startMs = NOW_MS + 365 * 86_400_000
  let passed = 0
  for (let ms = 0; ms < 100; ms++) passed += passAll(limits, use, startMs + ms, 1_100)
  t.ok(Math.abs(passed - 100_000) < 1_000, `${passed} of 100,000`)
})

t.test('a burst shorter than a step of the clock refuses nothing that comes evenly', async t => {
  const [limits] = openEdges(t)
  if (limits === undefined) return
  const use = new Use(grantOf({ requestsPerSecondMax: 10_000, requestsBurstMax: 1 }))
  let passed = 0
  const startMs = Date.now()
  for (let ms = 0; ms < 50; ms++) passed += passAll(limits, use, startMs + ms, 10)
  t.equal(passed, 500)
})

t.test('accesses that rest give way, those in use do not', async t => {
  const [one, two] = openEdges(t, 2, 8)
  if (one === undefined || two === undefined) return
  const uses = Array.from({ length: 20 }, (_, index) => new Use(grantOf({}, `acc_${index}`)))
  for (const use of uses.slice(0, 8)) t.equal(one.enter(use, NOW_MS), undefined)
  t.equal(two.enter(new Use(grantOf({}, 'acc_9')), NOW_MS), FULL, 'all eight have work in flight')
  for (const use of uses.slice(0, 8)) one.leave(use, 1)
  t.equal(two.enter(new Use(grantOf({}, 'acc_9')), NOW_MS), FULL, 'nothing in flight, but unpaid')
  for (const [nth, use] of uses.slice(8).entries())
    t.ok(pass(two, use, NOW_MS + 10_000 * (nth + 1)), use.grant.accessId)
  // The first edge still knows the rows of the first eight, which are others' now.
  for (const use of uses.slice(0, 8)) t.equal(one.enter(use, NOW_MS + 200_000), undefined)
  const table = openLimitTable(t.testdirName, 2, { accessesMax: 8 })
  for (const use of uses.slice(0, 8)) {
    t.strictSame(readLoad(table, use.grant.accessId), { requestsInFlight: 1, sockets: 0 })
    one.leave(use, 1)
    t.strictSame(readLoad(table, use.grant.accessId), { requestsInFlight: 0, sockets: 0 })
  }
})

t.test('a process that was stopped within a change of rows stops nobody else', async t => {
  const dir = t.testdir()
  const path = join(dir, 'limits')
  const table = new LimitTable(path, { edgeCount: 2, rowCount: 8, nowMs: NOW_MS })
  Atomics.store(table.counts, 0, 2)
  const row = table.take(keyOfAccess('acc_1'), 0, NOW_MS)
  t.not(row, -1)
  table.clearEdge(1)
  t.equal(table.counts[0], 0, 'its lock ends with it')
})

t.test('more rows than a file holds are refused by the name of the option', async t => {
  const open = (): unknown => openLimitTable(t.testdir(), 256, { accessesMax: 5_000 })
  t.throws(open, /^access\.limits\.accessesMax: at most 4064 with 256 edges, not 5000$/)
})

/** What some edges do, step by step; the table must agree with plain counts after each. */
type Act = {
  readonly kind: 'enter' | 'leave' | 'socket' | 'close'
  readonly edge: number
  readonly access: number
}
type Step =
  | Act
  | { readonly kind: 'kill'; readonly edge: number }
  | { readonly kind: 'wait'; readonly ms: number }

t.test('whatever edges do in whatever order, the sums are right', async t => {
  const EDGES = 3
  const ACCESSES = 6
  const edge = fc.nat(EDGES - 1)
  const access = fc.nat(ACCESSES - 1)
  const kind = fc.constantFrom(
    'enter' as const,
    'enter' as const,
    'leave' as const,
    'socket' as const,
    'close' as const,
  )
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 20, arbitrary: fc.record({ kind, edge, access }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), edge }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(300) }) },
  )
  let run = 0
  const property = fc.property(fc.array(step, { maxLength: 300, size: 'max' }), steps => {
    // Fewer rows than accesses: they pass from one to another all the time.
    const path = join(t.testdirName, `table ${run++}`)
    const table = new LimitTable(path, { edgeCount: EDGES, rowCount: 4, nowMs: NOW_MS })
    const edges = Array.from({ length: EDGES }, (_, index) => new Limits(table, index))
    const limits = { requestsBurstMax: 20, requestsPerSecondMax: 100, requestsInFlightMax: 3 }
    const makeUses = () =>
      Array.from({ length: ACCESSES }, (_, nth) => new Use(grantOf(limits, `acc_${nth}`)))
    const uses = edges.map(makeUses)
    const requests = edges.map(() => new Array<number>(ACCESSES).fill(0))
    const sockets = edges.map(() => new Array<number>(ACCESSES).fill(0))
    const sumOf = (counts: number[][], nth: number): number =>
      counts.reduce((sum, row) => sum + (row[nth] ?? 0), 0)
    let nowMs = NOW_MS
    const act = (limit: Limits, use: Use, { kind, edge, access }: Act): void => {
      const counts = kind === 'enter' || kind === 'leave' ? requests[edge] : sockets[edge]
      const had = counts?.[access] ?? 0
      if (counts === undefined) return
      if (kind === 'enter' || kind === 'socket') {
        const exceeded = kind === 'enter' ? limit.enter(use, nowMs) : limit.openSocket(use, nowMs)
        if (exceeded === undefined) counts[access] = had + 1
        const most = kind === 'enter' ? 3 : 2
        const sum = sumOf(kind === 'enter' ? requests : sockets, access)
        if (sum > most) throw new Error(`${sum} of ${most} let in`)
        if (typeof exceeded === 'object' && exceeded.max === most && sum !== most)
          throw new Error(`refused at ${sum} of ${most}`)
      } else if (had > 0) {
        counts[access] = had - 1
        if (kind === 'leave') limit.leave(use, 1)
        else limit.closeSocket(use)
      }
    }
    for (const one of steps) {
      if (one.kind === 'wait') nowMs += one.ms
      else if (one.kind === 'kill') {
        requests[one.edge]?.fill(0)
        sockets[one.edge]?.fill(0)
        table.clearEdge(one.edge)
        uses[one.edge] = makeUses()
      } else {
        const [limit, use] = [edges[one.edge], uses[one.edge]?.[one.access]]
        if (limit !== undefined && use !== undefined) act(limit, use, one)
      }
      for (let nth = 0; nth < ACCESSES; nth++) {
        const load = readLoad(table, `acc_${nth}`)
        if (load.requestsInFlight !== sumOf(requests, nth) || load.sockets !== sumOf(sockets, nth))
          throw new Error(`${JSON.stringify(load)} of acc_${nth}`)
      }
    }
  })
  t.testdir()
  t.doesNotThrow(() => fc.assert(property, { numRuns: 200 }))
})

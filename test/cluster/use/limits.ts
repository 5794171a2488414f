// Limits over several machines: their limit tables and what they report, with a clock of the test.
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { keyOfAccess, limitedAccess } from '../../../src/access/limiter/limit-table.js'
import { defaults } from '../../../src/cluster/options.js'
import { formatUse, parseUse } from '../../../src/cluster/use/machine-use.js'
import { OthersUse, type Report } from '../../../src/cluster/use/others-use.js'
import { OwnUse } from '../../../src/cluster/use/own-use.js'
import { DEBT_MS } from '../../../src/cluster/use/use-exchange.js'
import { mapLimitTable, type LimitedAccess } from '../../../src/native/access/limits.js'
import type { Limits } from '../../../src/shared/access-limits.js'
import { NOW_MS } from '../../fixtures/access/access.js'
import { grantOf } from '../../fixtures/access/grant.js'

const RATE = 100
const BURST = 40
const LIMITS = { requestsPerSecondMax: RATE, requestsBurstMax: BURST }
const STEP_MS = 20
/** A report is read by the others this much later, at most. */
const DELAY_MS_MAX = 200
/** Time after which a request is charged on every machine. */
const REPORTED_MS = defaults.beatMs + DELAY_MS_MAX + DEBT_MS

type Machine = {
  readonly access: LimitedAccess
  readonly own: OwnUse
  readonly others: OthersUse
  readonly instance: string
}

let files = 0

/** Machines that report to each other, each at its own time. */
class Machines {
  readonly machines: readonly Machine[]
  readonly delaysMs: readonly number[]
  nowMs = NOW_MS
  /** When requests were admitted, at any machine. */
  readonly admittedMs: number[] = []
  private readonly reports = new Map<number, { dueMs: number; report: Report }[]>()

  constructor(
    dir: string,
    count: number,
    delaysMs: readonly number[],
    limits: Partial<Limits> = LIMITS,
  ) {
    this.delaysMs = delaysMs
    this.machines = Array.from({ length: count }, (_, index) => {
      const table = mapLimitTable(join(dir, `table ${files++}`), { edgeCount: 1, rowCount: 8 })
      return {
        access: limitedAccess(table, grantOf(limits), 0),
        own: new OwnUse(table, defaults.usedAccessesMax),
        others: new OthersUse(table, defaults),
        instance: `${index}`,
      }
    })
    // Each has read what there was before any request.
    for (const { others } of this.machines) others.apply([], this.nowMs)
  }

  /** Sends so many requests to each machine, then lets a step pass. */
  step(counts: readonly number[]): void {
    for (const [index, machine] of this.machines.entries())
      for (let sent = 0; sent < (counts[index] ?? 0); sent++) this.send(machine)
    this.nowMs += STEP_MS
    for (const [index, machine] of this.machines.entries()) {
      const sinceMs = this.nowMs - NOW_MS + index * 300
      if (sinceMs % defaults.beatMs < STEP_MS) this.exchange(index)
      else if (sinceMs % DEBT_MS < STEP_MS) machine.others.pay(this.nowMs)
    }
  }

  /** The most requests that were admitted in any window of this length. */
  mostIn(windowMs: number): number {
    let most = 0
    let first = 0
    for (const [last, ms] of this.admittedMs.entries()) {
      while ((this.admittedMs[first] ?? 0) <= ms - windowMs) first++
      most = Math.max(most, last - first + 1)
    }
    return most
  }

  send({ access }: Machine): boolean {
    if (access.acquire(() => this.nowMs) !== undefined) return false
    access.release(1)
    this.admittedMs.push(this.nowMs)
    return true
  }

  /** One beat of a machine: it reports, and reads what has come of the others. */
  exchange(index: number): void {
    const machine = this.machines[index]
    if (machine === undefined) return
    const value = { instance: machine.instance, accesses: machine.own.take(this.nowMs) }
    const sent = this.reports.get(index) ?? []
    const report = {
      machine: `${index}`,
      revision: sent.length + 1,
      ...parseUse(Buffer.from(formatUse(value))),
    }
    sent.push({ dueMs: this.nowMs + (this.delaysMs[index] ?? 0), report })
    this.reports.set(index, sent)
    const found = [...this.reports].flatMap(([from, all]) => {
      const last = from === index ? undefined : all.findLast(({ dueMs }) => dueMs <= this.nowMs)
      return last === undefined ? [] : [last.report]
    })
    machine.others.apply(found, this.nowMs)
  }
}

const boundOf = (count: number, windowMs: number): number =>
  (RATE * (windowMs + STEP_MS)) / 1_000 + count * BURST + ((count - 1) * RATE * REPORTED_MS) / 1_000

t.test('requests in any window stay under the bound', async t => {
  const counts = fc.array(fc.nat(12), { minLength: 4, maxLength: 4 })
  const phase = fc.record({ counts, steps: fc.integer({ min: 1, max: 150 }) })
  const property = fc.property(
    fc.integer({ min: 1, max: 4 }),
    fc.array(fc.integer({ min: 0, max: DELAY_MS_MAX }), { minLength: 4, maxLength: 4 }),
    fc.array(phase, { minLength: 1, maxLength: 6 }),
    (count, delaysMs, phases) => {
      const machines = new Machines(t.testdirName, count, delaysMs)
      for (const { counts, steps } of phases)
        for (let step = 0; step < steps; step++) machines.step(counts)
      for (const windowMs of [STEP_MS, 500, 1_000, 3_000, 10_000]) {
        const [most, bound] = [machines.mostIn(windowMs), boundOf(count, windowMs)]
        if (most > bound) throw new Error(`${most} in ${windowMs} ms over ${bound}`)
      }
    },
  )
  t.testdir()
  t.doesNotThrow(() => fc.assert(property, { numRuns: 60 }))
})

t.test('the average over a long time is the rate of one machine', async t => {
  const SECONDS = 400
  for (const counts of [
    [4, 4, 4],
    [6, 1, 0],
    [3, 3, 5],
  ]) {
    const machines = new Machines(t.testdir(), 3, [40, 120, 200])
    for (let step = 0; step < (SECONDS * 1_000) / STEP_MS; step++) machines.step(counts)
    const perSecond = machines.admittedMs.length / SECONDS
    t.ok(Math.abs(perSecond / RATE - 1) <= 0.01, `${counts.join()}: ${perSecond} a second`)
  }
})

t.test('without reports each machine has the whole rate', async t => {
  const machines = new Machines(t.testdir(), 3, [1e9, 1e9, 1e9])
  for (let step = 0; step < 1_000; step++) machines.step([10, 10, 10])
  t.ok(machines.admittedMs.length > RATE * 20 * 2.9, 'the property above can fail')
})

const openPair = (t: Test, limits: Partial<Limits> = LIMITS) => {
  const machines = new Machines(t.testdir(), 2, [0, 0], limits)
  const [one, other] = machines.machines as [Machine, Machine]
  const exchange = (): void => {
    machines.exchange(0)
    machines.exchange(1)
    machines.exchange(0)
  }
  return { machines, one, other, exchange }
}

t.test('requests in flight and sockets of other machines count', async t => {
  const limits = { ...LIMITS, requestsInFlightMax: 2, socketsMax: 2 }
  const { machines, one, other, exchange } = openPair(t, limits)
  const now = (): number => machines.nowMs
  for (const { access } of [one, other]) {
    t.equal(access.acquire(now), undefined)
    t.equal(access.acquireSocket(now()), undefined)
  }
  exchange()
  t.match(one.access.acquire(now), { limit: 'requestsInFlightMax', max: 2 })
  t.match(one.access.acquireSocket(now()), { limit: 'socketsMax', max: 2 })
  other.access.release(1)
  other.access.releaseSocket()
  exchange()
  t.equal(one.access.acquire(now), undefined)
  t.equal(one.access.acquireSocket(now()), undefined)
})

t.test('a machine that reports nothing more has nothing in use', async t => {
  const { machines, one, other, exchange } = openPair(t, { ...LIMITS, requestsInFlightMax: 1 })
  const now = (): number => machines.nowMs
  t.equal(one.access.acquire(now), undefined)
  one.access.release(1)
  t.equal(other.access.acquire(now), undefined)
  exchange()
  t.match(one.access.acquire(now), { limit: 'requestsInFlightMax' })
  machines.nowMs += defaults.leaseMs + 1
  machines.exchange(0)
  t.equal(one.access.acquire(now), undefined)
})

t.test('a machine that was started again is charged for its new totals only', async t => {
  const { machines, one, other, exchange } = openPair(t)
  const use = (instance: string, series: number, requests: number, revision: number) => ({
    machine: '7',
    revision,
    instance,
    accesses: [{ key: keyOfAccess('acc_1'), series, requests, requestsInFlight: 0, sockets: 0 }],
  })
  const debtOf = (apply: () => void): number => {
    machines.nowMs += 60_000
    machines.send(one)
    apply()
    let admitted = 0
    while (machines.send(one)) admitted++
    return BURST - 1 - admitted
  }
  machines.send(one)
  machines.send(other)
  exchange()
  const { nowMs } = machines
  const apply = (report: Report) => () => one.others.apply([report], machines.nowMs)
  t.equal(debtOf(apply(use('a', 1, 10, 1))), 10)
  t.equal(debtOf(apply(use('a', 1, 10, 1))), 0, 'the same report again')
  t.equal(debtOf(apply(use('a', 1, 12, 2))), 2)
  t.equal(debtOf(apply(use('a', 2, 5, 3))), 5, 'a new series')
  t.equal(debtOf(apply(use('b', 2, 6, 4))), 6, 'a new process')
  t.ok(machines.nowMs > nowMs)
})

t.test('totals of accesses beyond the bound are reported later, none twice', async t => {
  const dir = t.testdir()
  const table = mapLimitTable(join(dir, 'limits'), { edgeCount: 1, rowCount: 8 })
  const own = new OwnUse(table, 2)
  const accesses = ['a', 'b', 'c'].map(id => ({
    key: keyOfAccess(id),
    access: limitedAccess(table, grantOf(LIMITS, id), 0),
  }))
  const charged = new Map<bigint, number>()
  const reported = new Map<bigint, number>()
  let last = new Map<bigint, { series: number; requests: number }>()
  const report = (nowMs: number): void => {
    const uses = own.take(nowMs)
    t.ok(uses.length <= 2)
    for (const { key, series, requests } of uses) {
      const before = last.get(key)
      const since = before?.series === series ? requests - before.requests : requests
      reported.set(key, (reported.get(key) ?? 0) + since)
    }
    last = new Map(uses.map(use => [use.key, use]))
  }
  for (let beat = 0; beat < 60; beat++) {
    const nowMs = NOW_MS + beat * 1_000
    for (const [index, { key, access }] of accesses.entries())
      for (let sent = 0; sent < ((beat + index) % 3) + (beat < 50 ? 1 : -2); sent++) {
        if (access.acquire(() => nowMs) !== undefined) continue
        access.release(1)
        charged.set(key, (charged.get(key) ?? 0) + 1)
      }
    report(nowMs)
  }
  t.strictSame(reported, charged)
})

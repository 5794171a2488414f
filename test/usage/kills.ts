import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { dayOf, DAY_MS, type TokenScope } from '../../src/usage/scope.js'
import { NOW_MS } from '../fixtures/access/access.js'
import { ownDir } from '../fixtures/own-dir.js'
import { scriptPath } from '../fixtures/repository.js'
import { isSoak } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'
import { LEDGER, openLedger } from '../fixtures/usage/process.js'
import { openUsage, usageIn } from '../fixtures/usage/usage.js'

const ROUNDS = isSoak ? 200 : 20
const SCOPE: TokenScope = { accessId: 'acc_1', network: 'main', location: 'fra' }
const FIRST_DAY = dayOf(NOW_MS)

/** Counts of everything, whether it is recorded or not, in three ways. */
const totalsIn = async (usage: ReturnType<typeof usageIn>, nowMs: number) => {
  const periods = { grain: 'day', fromMs: 0, untilMs: nowMs + DAY_MS } as const
  const days = { from: FIRST_DAY, until: dayOf(nowMs) + 1 }
  const [{ periods: found }, { methods }] = await Promise.all([
    usage.ofPeriods(SCOPE, periods),
    usage.ofMethods(SCOPE, days),
  ])
  const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0)
  return {
    requests: sum(found.map(({ requests }) => requests)),
    calls: sum(methods.map(({ requests }) => requests)),
    timed: sum(methods.flatMap(({ latencies }) => latencies)),
    errors: sum(found.map(({ errors }) => errors)),
    coded: sum(methods.flatMap(({ codes }) => codes).map(({ count }) => count)),
  }
}

t.test('kill -9 at any instant loses no counted call and doubles none', async t => {
  const dir = ownDir(t)
  const ledger = openLedger(dir)
  ledger[LEDGER.nowMs] = NOW_MS
  const start = (role: 'edge' | 'recorder'): ChildProcess => {
    const script = scriptPath('test/fixtures/usage/process')
    return spawn(process.execPath, [script, role, dir], { stdio: 'inherit' })
  }
  const children = { recorder: start('recorder'), edge: start('edge') }
  t.teardown(() => Object.values(children).forEach(child => child.kill('SIGKILL')))
  const callsOf = (): number => ledger[LEDGER.calls] ?? 0
  const usage = usageIn(dir, () => ledger[LEDGER.nowMs] ?? 0)
  /** Calls that were counted and not answered: one at most for each killed edge. */
  let unanswered = 0
  for (let round = 0; round < ROUNDS; round++) {
    const before = callsOf()
    await until('it counts', () => callsOf() > before)
    // Any instant of the work of both.
    await sleep(Math.random() * 30)
    const role = round % 2 === 0 ? 'edge' : 'recorder'
    const ended = once(children[role], 'exit')
    children[role].kill('SIGKILL')
    await ended
    const [least, leastErrors] = [callsOf(), ledger[LEDGER.errors] ?? 0]
    const totals = await totalsIn(usage, ledger[LEDGER.nowMs] ?? 0)
    const most = role === 'edge' ? least + unanswered + 1 : callsOf() + unanswered + 1
    for (const name of ['requests', 'calls', 'timed'] as const)
      t.ok(totals[name] >= least && totals[name] <= most, `${name} ${totals[name]} of ${least}`)
    for (const name of ['errors', 'coded'] as const)
      t.ok(totals[name] >= leastErrors, `${name} ${totals[name]} of ${leastErrors}`)
    if (role === 'edge') unanswered = totals.requests - least
    children[role] = start(role)
  }
  // Both end; another edge and another recorder settle what they left.
  for (const child of Object.values(children)) {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const nowMs = ledger[LEDGER.nowMs] ?? 0
  const last = await totalsIn(usage, nowMs)
  t.ok(last.requests - callsOf() <= ROUNDS / 2 + 1 && last.requests >= callsOf())
  openUsage(dir)
  const { UsageWriter } = await import('../../src/usage/store.js')
  await new UsageWriter(dir).record()
  t.strictSame(await totalsIn(usage, nowMs), last, 'recorded, as it was read before')
})

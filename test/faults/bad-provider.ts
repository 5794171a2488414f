import { join } from 'node:path'
import t from 'tap'
import type { Plan } from '../../src/ingest/feed/geyser.js'
import type { StoreOptions } from '../../src/native/store.js'
import { injectFeedFault, SCOPE, startFeedHarness } from '../fixtures/ingest/feed-harness.js'
import { ownDir } from '../fixtures/own-dir.js'
import { isSoak } from '../fixtures/soak.js'

const ROUNDS = isSoak ? 300 : 3
/** Rounds between two comparisons of every account. */
const COMPARE_ROUNDS = 3
/** A provider that never recovers causes a gap when the reader returns to it. */
const CASES: readonly [plan: Plan, scope: StoreOptions['scope']][] = [
  ['blocks', undefined],
  ['accounts', undefined],
  ['scoped', SCOPE],
  ['narrow', SCOPE],
]

/** Seeded generator (mulberry32): the same seed gives the same faults. */
const createRandom = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

t.test(`${ROUNDS} rounds of random faults at two providers`, async t => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const { chain, feeds, slots, follow } = await startFeedHarness(t, [{}, {}])
  const [first, second] = feeds
  if (first === undefined || second === undefined) throw new Error('two feeds')
  const dir = ownDir(t)
  const followers = CASES.map(([plan, scope], index) => ({
    plan,
    follower: follow(join(dir, plan), {
      options: { plan, transactions: index % 2 === 0 ? 'none' : 'logs' },
      scope,
      sources: [{ endpoint: first.url }, { endpoint: second.url }],
    }),
  }))
  /** Faults that a replay or a retry repairs. */
  const passing = (): object => {
    const slot = chain.slot + random(3)
    const faults = [
      { fault: 'drop' },
      { fault: 'drop', code: 13, details: 'lagged to send an update' },
      { fault: 'cut' },
      { fault: 'refuse', code: 14, times: 1 + random(6) },
      { fault: 'refuse', code: 13, times: 1 + random(6) },
      { fault: 'double', slot },
      { fault: 'swap', slot },
      { fault: 'fork', slot },
      { fault: 'omit', slot, isReplayed: true },
      { fault: 'stall', ms: 1 + random(600) },
      { fault: 'burst', slots: 1 + random(6) },
    ]
    return faults[random(faults.length)] ?? {}
  }
  /** Faults that nothing repairs at this provider. */
  const lasting = (): object => {
    const slot = chain.slot + random(3)
    const faults = [
      { fault: 'omit', slot },
      { fault: 'forgeParent', slot },
      { fault: 'forgetReplay' },
    ]
    return faults[random(faults.length)] ?? {}
  }
  let statuses = 0
  const order = async (url: string, fault: object): Promise<void> => {
    statuses = Math.max(statuses, await injectFeedFault(url, fault))
  }
  for (let round = 1; round <= ROUNDS; round++) {
    for (let count = random(3); count >= 0; count--) await order(first.url, passing())
    if (random(3) === 0) await order(first.url, lasting())
    if (random(2) === 0) await order(second.url, passing())
    slots(1 + random(8), random(6))
    if (round % COMPARE_ROUNDS !== 0) continue
    // Enough slots for reordered messages, and for slots with a scheduled fault.
    slots(6)
    for (const { plan, follower } of followers) {
      await follower.untilStored(60_000)
      t.strictSame(await follower.findDifferences(), [], `${plan}, round ${round}`)
    }
  }
  t.equal(statuses, 200, 'every order was taken')
})

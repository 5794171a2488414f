import { join } from 'node:path'
import t from 'tap'
import { defaults, type Plan } from '../../../src/ingest/feed/geyser.js'
import type { StoreOptions } from '../../../src/native/store.js'
import { BANK_FAULTS } from '../../../src/sandbox/geyser/slot-faults.js'
import { injectFeedFault, SCOPE, startFeedHarness } from '../../fixtures/ingest/feed-harness.js'

const PLANS: readonly [plan: Plan, scope: StoreOptions['scope']][] = [
  ['accounts', undefined],
  ['blocks', undefined],
  ['scoped', SCOPE],
  ['narrow', SCOPE],
]

t.test('of a slot with two banks, the store has what the chain took', async t => {
  const { chain, feeds, slots, follow, history } = await startFeedHarness(t)
  const [feed] = feeds
  if (feed === undefined) throw new Error('no feed')
  const dir = t.testdir()
  const followers = PLANS.map(([plan, scope]) => ({
    plan,
    follower: follow(join(dir, plan), { options: { plan, transactions: 'status' }, scope }),
  }))
  const check = async (what: string): Promise<void> => {
    for (const { plan, follower } of followers) {
      await follower.untilStored()
      t.strictSame(await follower.findDifferences(), [], `${plan}: ${what}`)
    }
  }
  slots(3)
  await check('before')
  for (const kind of BANK_FAULTS) {
    const slot = chain.slot + 2
    t.equal(await injectFeedFault(feed.url, { fault: 'banks', kind, slot }), 200)
    // An account that only the lost bank writes.
    history.set(feed.splitSlot(slot, kind), [])
    slots(2)
    // The slot itself is confirmed now, and its child's parent hash is not known yet.
    slots(1)
    if (kind !== 'undecided') await check(`${kind}, at once`)
    slots(4)
    await check(kind)
    await injectFeedFault(feed.url, { fault: 'cut' })
    slots(2)
    await check(`${kind}, replayed`)
  }
  // All of them in a row, and at the same time a replay.
  for (const kind of [...BANK_FAULTS, ...BANK_FAULTS]) {
    history.set(feed.splitSlot(chain.slot + 1, kind), [])
    slots(1)
    if (kind === 'equivocation') feed.dropStreams()
  }
  slots(5)
  await check('in a row')
  for (const { plan, follower } of followers) {
    const gaps = follower.logged.filter(text => /gap|malformed/.test(text))
    t.strictSame(gaps, [], `${plan}: no gap and no malformed message`)
    t.ok(follower.logged.includes('blocks are assembled by slot and bank'))
  }
})

t.test('a server without banks is assembled by slot, and says so', async t => {
  const { feeds, slots, follow } = await startFeedHarness(t, [{ hasBanks: false }])
  const [feed] = feeds
  if (feed === undefined) throw new Error('no feed')
  const follower = follow(t.testdir(), { options: { plan: defaults.plan } })
  slots(5)
  feed.forkSlot(6)
  slots(5)
  await follower.untilStored()
  t.strictSame(await follower.findDifferences(), [])
  t.ok(follower.logged.includes('blocks are assembled by slot: the server does not number banks'))
})

import { join } from 'node:path'
import t from 'tap'
import type { Plan } from '../../../src/ingest/feed/geyser.js'
import type { StoreOptions } from '../../../src/native/store.js'
import { injectFeedFault, SCOPE, startFeedHarness } from '../../fixtures/ingest/feed-harness.js'
import { until } from '../../fixtures/until.js'

const CASES: readonly [name: string, plan: Plan, scope: StoreOptions['scope']][] = [
  ['whole blocks', 'blocks', undefined],
  ['every account', 'accounts', undefined],
  ['whole blocks for a scope', 'blocks', SCOPE],
  ['every account for a scope', 'accounts', SCOPE],
  ['a scope with closed accounts', 'scoped', SCOPE],
  ['a scope with transactions', 'narrow', SCOPE],
]

t.test('with every plan, provider faults do not change the stored accounts', async t => {
  const { chain, feeds, slots, follow } = await startFeedHarness(t)
  const [feed] = feeds
  if (feed === undefined) throw new Error('no feed')
  const dir = t.testdir()
  const followers = CASES.map(([name, plan, scope], index) => {
    const options = {
      plan,
      transactions: (['none', 'status', 'logs'] as const)[index % 3] ?? 'none',
    }
    return { name, follower: follow(join(dir, plan + index), { options, scope }) }
  })
  const untilStored = () => Promise.all(followers.map(({ follower }) => follower.untilStored()))
  slots(5)
  await untilStored()
  const order = async (fault: object): Promise<void> => {
    t.equal(await injectFeedFault(feed.url, fault), 200, JSON.stringify(fault))
  }
  const faults: readonly [name: string, fault: () => Promise<void>][] = [
    ['streams are ended', () => order({ fault: 'drop' })],
    ['connections are cut', () => order({ fault: 'cut' })],
    ['it ends with INTERNAL', () => order({ fault: 'drop', code: 13, details: 'lagged' })],
    ['new streams are refused', () => order({ fault: 'refuse', code: 14, times: 3 })],
    ['a slot is sent twice', () => order({ fault: 'double', slot: chain.slot })],
    ['slots are sent out of order', () => order({ fault: 'swap', slot: chain.slot })],
    ['forks are reported', () => order({ fault: 'fork', slot: chain.slot })],
    ['a slot is omitted, but replayed', () => order({ fault: 'omit', isReplayed: true })],
    ['it sends nothing', () => order({ fault: 'stall', ms: 600 })],
    ['ten slots are sent at once', () => order({ fault: 'burst', slots: 10 })],
  ]
  for (const [name, fault] of faults) {
    await fault()
    // Enough slots for reordered messages to be a gap, and for delayed ones to arrive.
    slots(10)
    await untilStored()
    for (const { name: plan, follower } of followers)
      t.strictSame(await follower.findDifferences(), [], `${plan}: ${name}`)
  }
  // All faults within one range of slots.
  await order({ fault: 'double' })
  await order({ fault: 'fork', slot: chain.slot + 1 })
  await order({ fault: 'swap', slot: chain.slot + 2 })
  slots(4)
  await order({ fault: 'cut' })
  slots(6)
  await untilStored()
  for (const { name, follower } of followers)
    t.strictSame(await follower.findDifferences(), [], `${name}: after the faults`)
})

t.test(
  'a block with fewer accounts than it announces is refused, and another server read',
  async t => {
    const { chain, feeds, slots, follow } = await startFeedHarness(t, [{}, {}])
    const [lossy, whole] = feeds
    if (lossy === undefined || whole === undefined) throw new Error('two feeds')
    const { findDifferences, logged, untilStored } = follow(t.testdir(), {
      sources: [{ endpoint: lossy.url }, { endpoint: whole.url }],
      options: { plan: 'blocks' },
    })
    await untilStored()
    await until('the version is logged', () =>
      logged.some(text => text.includes("the feed's server is slotline-sandbox 0.1.0")),
    )
    lossy.omitAccount(chain.slot)
    slots(3)
    await untilStored()
    t.match(logged.join('\n'), /slot \d+: .*a block with \d+ of the \d+ accounts that it announces/)
    t.match(logged.join('\n'), 'repair: switching to source 2 of 2')
    t.strictSame(await findDifferences(), [], 'nothing is lost')
  },
)

t.test('a gap beyond the replay is reported, and no slot is skipped', async t => {
  const { feeds, slots, follow } = await startFeedHarness(t)
  const [server] = feeds
  if (server === undefined) throw new Error('no feed')
  const { tipSlot, feed, logged, findDifferences, untilStored } = follow(t.testdir())
  await untilStored()
  const storedSlot = tipSlot()
  server.refuse({ code: 14, details: 'away' }, 2)
  server.dropStreams()
  slots(5)
  server.forgetReplay()
  slots(1)
  await until('it is unhealthy', () => {
    const health = feed.health()
    return !health.isHealthy && health.cause === 'gap'
  })
  t.equal(tipSlot(), storedSlot)
  t.match(feed.health(), { reason: new RegExp(`^gap after slot ${storedSlot}: broadcast from`) })
  t.match(feed.repair(), { step: 'replay' })
  t.ok(
    logged.some(text => text.startsWith('repair: the reader retries by itself, because gap after')),
  )
  t.strictSame(await findDifferences(), [], 'every stored account is right for its slot')
})

t.test('errors of provider limits name the option to change', async t => {
  const sample = { max: 1, any: false, pubkeysMax: 10, include_accounts: false }
  const { slots, follow } = await startFeedHarness(t, [{ filters: sample }])
  slots(4)
  const dir = t.testdir()
  const refused: readonly [Plan, scope: StoreOptions['scope'], setting: string][] = [
    ['blocks', undefined, 'filters.blocks.include_accounts'],
    ['accounts', undefined, 'filters.accounts.any'],
    ['scoped', SCOPE, 'filters.accounts.max'],
  ]
  for (const [plan, scope, setting] of refused) {
    const { feed, stop } = follow(join(dir, plan), { options: { plan }, scope })
    await until('it is refused', () => {
      const health = feed.health()
      return !health.isHealthy && health.cause === 'refused' && health.reason.includes(setting)
    })
    stop()
  }
  // At exactly these limits the narrow plan stores the same accounts.
  const { untilStored, findDifferences } = follow(join(dir, 'narrow'), {
    options: { plan: 'narrow' },
    scope: SCOPE,
  })
  slots(4)
  await untilStored()
  t.strictSame(await findDifferences(), [])
})

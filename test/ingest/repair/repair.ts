import { join } from 'node:path'
import t from 'tap'
import { SnapshotUnavailable } from '../../../src/ingest/bootstrap/snapshot-location.js'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import { injectFeedFault, SCOPE, startFeedHarness } from '../../fixtures/ingest/feed-harness.js'
import { until } from '../../fixtures/until.js'

/**
 * Without new slots a reader subscribes again after its timeout: replays may occur at any time.
 */
const turnsIn = (repairs: readonly (string | undefined)[]) =>
  repairs.filter(step => step !== undefined && step !== 'replay')

const PLANS = ['blocks', 'accounts', 'scoped', 'narrow'] as const

t.test('with every plan, the next provider repairs faults of the current one', async t => {
  const { chain, feeds, slots, follow } = await startFeedHarness(t, [{}, {}])
  const [bad, good] = feeds
  if (bad === undefined || good === undefined) throw new Error('two feeds')
  const dir = t.testdir()
  const sources = [{ endpoint: bad.url }, { endpoint: good.url }] as const
  const open = (name: string) =>
    PLANS.map(plan => ({
      plan,
      ...follow(join(dir, name + plan), {
        sources,
        // No fault here is silence, and without new slots the good source is silent as well.
        options: { plan, blockSilenceMs: 60_000 },
        ...(plan === 'scoped' || plan === 'narrow' ? { scope: SCOPE } : {}),
      }),
    }))
  slots(3)
  const faults: readonly [name: string, fault: (order: Order) => Promise<void>][] = [
    ['a slot is never sent', order => order({ fault: 'omit', slot: chain.slot + 1 })],
    ['a wrong parent', order => order({ fault: 'forgeParent', slot: chain.slot + 1 })],
    [
      'a gap beyond its replay',
      async order => {
        await order({ fault: 'refuse', code: 14, times: PLANS.length })
        await order({ fault: 'drop' })
        slots(2)
        await order({ fault: 'forgetReplay' })
      },
    ],
    [
      'INTERNAL forever',
      async order => {
        await order({ fault: 'refuse', code: 13, details: 'catching up', times: 1_000_000 })
        await order({ fault: 'drop', code: 13, details: 'catching up' })
      },
    ],
  ]
  const order = async (fault: object): Promise<void> => {
    t.equal(await injectFeedFault(bad.url, fault), 200, JSON.stringify(fault))
  }
  for (const [index, [name, fault]] of faults.entries()) {
    const followers = open(String(index))
    await Promise.all(followers.map(({ untilStored }) => untilStored()))
    await fault(order)
    slots(8)
    for (const { plan, untilStored, findDifferences, feed, repairs, logged, stop } of followers) {
      await untilStored()
      t.strictSame(await findDifferences(), [], `${plan}: ${name}`)
      await until('the network is healthy', () => feed.health().isHealthy)
      t.equal(feed.sourceIndex(), 1, `${plan}: the second source is in use`)
      t.not(feed.repair()?.step, 'source')
      t.strictSame(turnsIn(repairs), ['source'], 'it was logged when it began')
      t.ok(repairs.includes(undefined), 'and when it ended')
      t.ok(logged.some(text => /^repair: switching to source 2 of 2, because /.test(text)))
      stop()
    }
  }
})

/** Between two runs that load nothing. */
const PAUSE_MS = 1_000

type Order = (fault: object) => Promise<void>

t.test('after all sources the steps run, with their reasons, then the feed resumes', async t => {
  const { feeds, slots, follow, chain } = await startFeedHarness(t, [{}, {}])
  const [lost, whole] = feeds
  if (lost === undefined || whole === undefined) throw new Error('two feeds')
  const dir = t.testdir()
  // Result of a step: a store that another feed brought to a newer block.
  const made = follow(join(dir, 'made'), { sources: [{ endpoint: whole.url }] })
  const taken: string[] = []
  const unavailableMs: number[] = []
  const target = { endpoint: lost.url }
  const { feed, repairs, logged, untilStored, tipSlot, findDifferences } = follow(
    join(dir, 'suspended'),
    {
      sources: [target],
      steps: ['incremental', 'snapshot'],
      repair: { stepAttemptsMax: 1, sourcesPauseMs: PAUSE_MS },
      run: async step => {
        if (unavailableMs.length < 4) {
          unavailableMs.push(Date.now())
          throw new SnapshotUnavailable('the node is restarting')
        }
        taken.push(step)
        if (step === 'incremental') throw new Error('no snapshot covers the hole')
        // The feed again has slots that follow the tip.
        await injectFeedFault(lost.url, { fault: 'refuse', code: 14, times: 0 })
      },
    },
  )
  await untilStored()
  const storedSlot = tipSlot()
  await injectFeedFault(lost.url, {
    fault: 'refuse',
    code: 11,
    details: 'broadcast from 1 is not available, last available: 9',
    times: 1_000_000,
  })
  lost.dropStreams()
  slots(3)
  await until('both steps were taken', () => taken.length === 2)
  t.strictSame(taken, ['incremental', 'snapshot'])
  // Both steps of a run, which begins again after the pause, although the feed has the gap again.
  const [first = 0, second = 0, third = 0, fourth = 0] = unavailableMs
  t.ok(second - first < PAUSE_MS, `${second - first} ms`)
  t.ok(third - second >= PAUSE_MS - 1, `${third - second} ms`)
  t.ok(fourth - third < PAUSE_MS, `${fourth - third} ms`)
  slots(2)
  await untilStored()
  await until('the network is healthy', () => feed.health().isHealthy)
  t.ok(tipSlot() > storedSlot)
  const run = ['incremental', 'snapshot']
  t.strictSame(turnsIn(repairs), [...run, 'source', ...run, 'source', ...run])
  t.ok(repairs.includes('replay') && repairs.includes(undefined), 'as were the replay and the end')
  t.ok(logged.some(text => text.startsWith('repair: starting incremental, because gap after slot')))
  t.ok(logged.includes('repair: incremental failed: no snapshot covers the hole'))
  t.ok(logged.includes('repair: snapshot is done'))
  t.strictSame(await findDifferences(), [])
  await made.untilStored()
  t.equal(made.tipSlot(), chain.tip.slot)
})

t.test('ten times the rate of its queue: the feed reconnects and loses nothing', async t => {
  const bytes = 512 * 1024
  // Three blocks of six such accounts; without a limit the queue would buffer all ten.
  const { chain, feeds, slots, follow } = await startFeedHarness(t)
  const bufferBytesMax = 11 * 1024 ** 2
  const options = { bufferBytesMax, groupBlocksMax: 1 }
  const { untilStored, findDifferences, buffered } = follow(t.testdir(), { options })
  slots(3)
  await untilStored()
  t.equal(await injectFeedFault(feeds[0]?.url ?? '', { fault: 'burst', slots: 10 }), 200)
  for (let slot = 0; slot < 10; slot += 1) {
    for (let index = 0; index < 6; index += 1)
      chain.load(Buffer.alloc(32, 1 + index), {
        lamports: BigInt(1_000_000 + slot),
        owner: ADDRESSES.system,
        executable: false,
        rentEpoch: 0n,
        data: Buffer.alloc(bytes, slot),
      })
    slots(1, 10)
  }
  await untilStored(40_000)
  // The store has a commit before its event is emitted.
  await until('each commit was reported', () => buffered.length >= chain.tip.slot)
  t.equal(buffered.length, chain.tip.slot)
  // The queue may exceed the limit by one block and one incomplete block.
  t.ok(Math.max(...buffered) <= bufferBytesMax + 2 * 7 * bytes, `${Math.max(...buffered)} bytes`)
  t.strictSame(await findDifferences(), [])
})

t.test('a replaced store is fed from the tip of the new one', async t => {
  const { slots, follow } = await startFeedHarness(t)
  const { feed, untilStored, findDifferences, tipSlot, repairs } = follow(t.testdir())
  await untilStored()
  const storedSlot = tipSlot()
  feed.restart()
  slots(3)
  await untilStored()
  t.ok(tipSlot() > storedSlot)
  t.strictSame(await findDifferences(), [])
  t.strictSame(turnsIn(repairs), [], 'that is no repair')
})

t.test('the outcome of a step running at the stop is ignored', async t => {
  const { feeds, slots, follow } = await startFeedHarness(t)
  const [server] = feeds
  if (server === undefined) throw new Error('no feed')
  let signal: AbortSignal | undefined
  const { logged, untilStored, stop } = follow(t.testdir(), {
    steps: ['rpc'],
    run: (_step, given) => {
      signal = given
      return new Promise((_resolve, reject) =>
        given.addEventListener('abort', () => reject(new Error('stopped'))),
      )
    },
  })
  await untilStored()
  server.refuse({ code: 13, details: 'from_slot is not supported' }, 1_000)
  server.dropStreams()
  slots(1)
  await until('the step runs', () => signal !== undefined)
  stop()
  t.equal(signal?.aborted, true)
  await new Promise(resolve => setImmediate(resolve))
  t.notOk(logged.some(text => text.includes('rpc failed')))
})

import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { readStatus } from '../../src/storage/status-file.js'
import { ADDRESSES } from '../../src/sandbox/solana/addresses.js'
import type { AccountUpdate } from '../../src/sandbox/chain/block.js'
import { openRpc } from '../../src/sandbox/rpc/rpc.js'
import { serveArchives } from '../fixtures/ingest/archive-server.js'
import { examineStore } from '../fixtures/sandbox/chain-state.js'
import { call, runToEnd, type Service } from '../fixtures/processes/deployment.js'
import { toBigInt } from '../fixtures/rpc/exact-json.js'
import { demandForkIsUnknown, untilForkIsKnown } from '../fixtures/ingest/fork-signature.js'
import { startPublishing } from '../fixtures/ingest/publish-archives.js'
import { startFeedHarness } from '../fixtures/ingest/feed-harness.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { recordChain } from '../fixtures/ingest/snapshot-archive.js'
import { isSoak, soakTest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

type StoredAccount = {
  readonly lamports: unknown
  readonly owner: string
  readonly data: readonly [string, string]
}

const SLOT_MS = 100
const TOKEN = bs58.encode(ADDRESSES.token)
const SHORT_TIMEOUTS = { failuresMax: 2, gapAttemptsMax: 1, backoffInitialMs: 10, backoffMaxMs: 40 }
const SECTIONS = {
  processes: { edgeCount: 1 },
  bootstrap: { pollMs: 50, firstBlockMs: 30_000, snapshotPollMs: 100, snapshotWaitMs: 60_000 },
  status: { writeMs: 50, staleMs: 5_000 },
}
const KEYS_AT_ONCE = 20
const LIVE_MS = 100_000

/** A service on a feed that will loseSlots slots, and a validator's archives of the same chain. */
const open = async (
  t: Test,
  repairSteps: readonly string[],
  isScoped = false,
  repair: object = {},
) => {
  const { chain, feeds, slots, history } = await startFeedHarness(t, [{}, {}])
  const [lossy, whole] = feeds
  if (lossy === undefined || whole === undefined) throw new Error('two feeds')
  const rpc = await openRpc(chain)
  t.teardown(() => rpc.close())
  const record = await recordChain({ chain, geyserUrl: whole.url })
  t.teardown(() => record.close())
  const files = await serveArchives(t)
  const startSlot = chain.options.firstSlot
  const prepared = await prepareServe(
    t,
    { one: { endpoint: lossy.url } },
    {
      ...SECTIONS,
      networks: [
        {
          id: 'one',
          feed: { endpoint: lossy.url, startSlot, ...SHORT_TIMEOUTS, backoffLongMs: 100 },
          repair: { stepAttemptsMax: 1, sourcesPauseMs: 200, ...repair },
          repairSteps,
          snapshots: [`${files.url}/snapshot.tar.bz2`, `${files.url}/incremental-snapshot.tar.bz2`],
          ...(isScoped && {
            scope: { programs: [TOKEN] },
            accountsRpc: { endpoint: rpc.url, requestsPerSecondMax: 1_000 },
          }),
        },
      ],
    },
  )
  const archives = join(prepared.dataDir, '..', 'archives')
  mkdirSync(archives)
  files.serve(archives)
  const publish = async (base: number, isFull = false): Promise<void> => {
    const write = async (name: string, path: Promise<string>): Promise<void> =>
      void files.redirects.set(name, basename(await path))
    if (isFull) await write('snapshot.tar.bz2', record.writeFull(archives, base))
    const newest = record.writeIncremental(archives, base, chain.tip.slot)
    await write('incremental-snapshot.tar.bz2', newest)
    files.answerAwaited()
  }
  /**
   * Drops slots that the service does not have and lets the chain continue. Returns the first one.
   */
  const loseSlots = (count: number): number => {
    lossy.dropStreams()
    const first = chain.slot
    slots(count)
    lossy.forgetReplay()
    return first
  }
  /** Has the service end with a confirmed block that the chain does not have. Returns its hash. */
  const orphanTip = async (): Promise<string> => {
    const { slot } = chain
    const blockhash = lossy.orphanSlot(slot)
    slots(1)
    const stores = join(prepared.dataDir, 'accounts', 'one')
    await until('the orphan is served', () => readStatus(stores)?.tip?.slot === slot + 1)
    return blockhash
  }
  const startTicking = (): (() => void) => {
    const timer = setInterval(() => slots(1), SLOT_MS)
    t.teardown(() => clearInterval(timer))
    return () => clearInterval(timer)
  }
  const url = prepared.urlOf('one')
  const tipOf = async (): Promise<number> => {
    const { context } = (await call(url, 'getLatestBlockhash', [{ commitment: 'confirmed' }])) as {
      context: { slot: number }
    }
    return context.slot
  }
  const untilServed = (): Promise<unknown> =>
    until(`slot ${chain.tip.slot} is served`, () =>
      tipOf().then(
        slot => slot === chain.tip.slot,
        () => false,
      ),
    )
  const readAccount = async (key: string): Promise<StoredAccount | undefined> => {
    try {
      const params = [key, { encoding: 'base64' }]
      const { value } = (await call(url, 'getAccountInfo', params)) as {
        value: StoredAccount | null
      }
      return value ?? undefined
    } catch (error) {
      // The folder does not exist, and must not.
      if (isScoped && String(error).includes('-32')) return undefined
      throw error
    }
  }
  const equalsChain = async (key: string, state?: AccountUpdate): Promise<boolean> => {
    if (state === undefined) return (await readAccount(key)) === undefined
    const owner = bs58.encode(state.owner)
    const isThere = state.lamports > 0n && (!isScoped || owner === TOKEN)
    const stored = await readAccount(key)
    return stored === undefined
      ? !isThere
      : isThere &&
          toBigInt(stored.lamports) === state.lamports &&
          stored.owner === owner &&
          Buffer.from(stored.data[0], 'base64').equals(state.data)
  }
  /**
   * Accounts whose state in the service differs from the chain's. In a scoped store the Clock comes
   * from the feed.
   */
  const findDifferences = async (): Promise<readonly string[]> => {
    const found: string[] = []
    const states = [...history].filter(([key]) => !isScoped || !key.startsWith('Sysvar'))
    for (let at = 0; at < states.length; at += KEYS_AT_ONCE)
      await Promise.all(
        states.slice(at, at + KEYS_AT_ONCE).map(async ([key, versions]) => {
          const state = versions.findLast(({ slot }) => slot <= chain.tip.slot)
          if (!(await equalsChain(key, state))) found.push(key)
        }),
      )
    return found.length === 0 && states.length < 30 ? [`only ${states.length} accounts`] : found
  }
  const stores = join(prepared.dataDir, 'accounts', 'one')
  return {
    chain,
    history,
    slots,
    prepared,
    stores,
    publish,
    loseSlots,
    orphanTip,
    readAccount,
    startTicking,
    untilServed,
    findDifferences,
    files,
  }
}

type Harness = Awaited<ReturnType<typeof open>>

/** Follows a repair to its end and compares every account. */
const end = async (
  t: Test,
  harness: Harness,
  service: Service,
  kind: string,
  check: () => Promise<void> = () => Promise.resolve(),
): Promise<void> => {
  const { untilServed, chain, startTicking, prepared, slots, stores, findDifferences } = harness
  const stop = startTicking()
  /** Steps that the status showed as running, each with its reason. */
  const shown = new Map<string, string>()
  await until(
    `a ${kind} is live`,
    () => {
      const { bootstrap, isHealthy, repair } = readStatus(stores) ?? {}
      if (repair !== undefined) shown.set(repair.step, repair.reason)
      return isHealthy === true && bootstrap?.kind === kind && bootstrap.state === 'done'
    },
    LIVE_MS,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${service.output().slice(-3_000)}`)
  })
  stop()
  slots(2)
  await untilServed()
  t.strictSame(await findDifferences(), [], 'every account equals the chain’s')
  await check()
  await untilServed()
  t.notOk(readStatus(stores)?.repair, 'no repair is running')
  const metrics = await (await fetch(prepared.metricsUrl)).text()
  t.match(metrics, /slotline_repairs_total\{[^}]*step="replay"[^}]*\} [1-9]/)
  t.match(metrics, new RegExp(`slotline_repairs_total\\{[^}]*step="${kind}"[^}]*\\} 1\n`))
  t.match(shown.get(kind), /gap after slot \d+: /, 'the status had the reason')
  const lines = service.output()
  t.match(lines, /repair: replaying after the tip, because the feed ended the stream/)
  t.match(lines, new RegExp(`repair: starting ${kind}, because .*gap after slot \\d+`))
  t.match(lines, new RegExp(`repair: ${kind} is done`))
  t.equal(await service.stop(), 0)
  const { differences, tip } = examineStore(prepared, 'one')
  t.strictSame(differences, [], 'every index equals a recomputation')
  t.match(tip, { slot: chain.tip.slot, blockhash: chain.tip.blockhash })
}

/** Starts the service and waits until it equals the chain. */
const begin = async ({ untilServed, prepared, slots }: Harness): Promise<Service> => {
  slots(6)
  const service = await prepared.start()
  await untilServed()
  return service
}

/** A service that has lost slots and needs an archive that is not available yet. */
const openPausedRepair = async (t: Test, repair: object = {}) => {
  const harness = await open(t, ['incremental'], false, repair)
  const service = await begin(harness)
  const stopPublishing = startPublishing(t, harness, harness.chain.tip.slot - 2)
  harness.files.setPaused(true)
  harness.loseSlots(9)
  const stop = harness.startTicking()
  await until('an archive is being read', () => harness.files.pending.length === 1)
  return { service, stop, stopPublishing, harness }
}

t.test(
  'a gap beyond replay: a copy of the store catches up from an incremental archive',
  async t => {
    const harness = await open(t, ['incremental', 'snapshot'])
    const { chain, files, loseSlots } = harness
    const service = await begin(harness)
    const stopPublishing = startPublishing(t, harness, chain.tip.slot - 2)
    files.awaitFiles()
    loseSlots(9)
    await end(t, harness, service, 'incremental')
    await stopPublishing()
    t.match(service.output(), /repair: starting incremental, because gap after slot \d+/)
    t.notMatch(service.output(), /repair: starting snapshot/)
  },
)

for (const kind of ['snapshot', 'rpc'] as const)
  soakTest(
    `after an incremental archive that does not continue the store comes ${kind}`,
    {},
    async t => {
      const harness = await open(t, ['incremental', kind], kind === 'rpc')
      const { loseSlots } = harness
      const service = await begin(harness)
      const first = loseSlots(9)
      const stopPublishing = startPublishing(t, harness, first + 2, true)
      await end(t, harness, service, kind)
      await stopPublishing()
      const message = `repair: incremental failed: .* contains the changes after slot ${first + 2}, but the store ends at slot ${first - 1}`
      t.match(service.output(), new RegExp(message))
    },
  )

for (const kind of isSoak ? (['snapshot', 'rpc'] as const) : (['rpc'] as const))
  t.test(`a store that ends with an orphaned block is made anew by ${kind}`, async t => {
    const harness = await open(t, ['incremental', kind], kind === 'rpc')
    const { chain, loseSlots, orphanTip, readAccount } = harness
    const service = await begin(harness)
    const base = chain.tip.slot - 2
    const orphan = await orphanTip()
    t.ok(await readAccount(orphan), 'an account of the fork is served')
    const url = harness.prepared.urlOf('one')
    await untilForkIsKnown(t, url, orphan)
    harness.files.awaitFiles()
    loseSlots(9)
    const stopPublishing = startPublishing(t, harness, base, true)
    // The comparison with the chain includes what only the fork wrote.
    harness.history.set(orphan, [])
    await end(t, harness, service, kind, () => demandForkIsUnknown(t, url, orphan, harness.slots))
    await stopPublishing()
    const reason = `repair: incremental failed: the store ends with block ${orphan} of slot \\d+, which is not among the last \\d+ blocks`
    t.match(service.output(), new RegExp(reason))
  })

soakTest('kill -9 while a copy catches up restarts the step', {}, async t => {
  const { service, stop, stopPublishing, harness } = await openPausedRepair(t)
  const { untilServed, files, prepared, stores } = harness
  t.match(readStatus(stores), {
    repair: { step: 'incremental' },
    bootstrap: { kind: 'incremental', step: 'load' },
  })
  process.kill(service.pidsOf('indexer')[0] ?? 0, 'SIGKILL')
  files.setPaused(false)
  await until('the store is live', () => readStatus(stores)?.bootstrap?.state === 'done')
  t.equal(readStatus(stores)?.bootstrap?.attempts, 2)
  t.notMatch(
    service.output(),
    /repair: incremental failed/,
    'the repair joins the running bootstrap',
  )
  await until('the network is healthy', () => readStatus(stores)?.isHealthy === true)
  stop()
  await untilServed()
  t.strictSame(await harness.findDifferences(), [])
  await stopPublishing()
  t.equal(await service.stop(), 0)
  t.strictSame(examineStore(prepared, 'one').differences, [])
})

soakTest('a cancelled step is not repeated before the next block', {}, async t => {
  const { service, stop, stopPublishing, harness } = await openPausedRepair(t, {
    sourcesPauseMs: 50,
    stepsPauseMs: 100,
  })
  const { untilServed, files, prepared, stores } = harness
  const args = ['--config', prepared.configFile, '--network', 'one']
  const cancelled = await runToEnd(t, ['bootstrap', 'cancel', ...args])
  t.equal(cancelled.code, 0, cancelled.output)
  const times = (says: string): number => service.output().split(says).length - 1
  const switches = times('repair: switching to source')
  await until(
    'all sources were tried again',
    () => times('repair: switching to source') > switches + 5,
  )
  t.match(service.output(), /repair: incremental was cancelled: by `slotline bootstrap cancel`/)
  t.equal(times('repair: starting incremental'), 1)
  t.notMatch(service.output(), 'bootstrap failed')
  t.match(readStatus(stores), { isHealthy: false, bootstrap: { state: 'cancelled' } })
  t.equal(files.pending.length, 1)
  files.setPaused(false)
  const source = `${files.url}/incremental-snapshot.tar.bz2`
  const loaded = await runToEnd(t, ['snapshot', 'load', source, ...args])
  t.equal(loaded.code, 0, loaded.output)
  await until('the network is healthy', () => readStatus(stores)?.isHealthy === true)
  stop()
  await stopPublishing()
  await untilServed()
  t.strictSame(await harness.findDifferences(), [])
  t.equal(await service.stop(), 0)
})

soakTest('a command updates a store, or reports why it cannot', {}, async t => {
  const harness = await open(t, [])
  const { untilServed, chain, startTicking, loseSlots, prepared, publish, slots, stores } = harness
  slots(6)
  const args = ['--config', prepared.configFile, '--network', 'one']
  const load = (): ReturnType<typeof runToEnd> =>
    runToEnd(t, ['snapshot', 'load', `${harness.files.url}/incremental-snapshot.tar.bz2`, ...args])
  await publish(chain.tip.slot - 2)
  const none = await load()
  t.equal(none.code, 1)
  t.match(none.output, /there is no store to bring up to date: load the full snapshot/)
  const service = await prepared.start()
  await untilServed()
  const stored = chain.tip.slot
  loseSlots(9)
  // A node repeats the name of its newest archive.
  await publish(stored)
  const stopPublishing = startPublishing(t, harness, stored)
  const stop = startTicking()
  const loaded = await load()
  t.equal(loaded.code, 0, loaded.output)
  t.match(readStatus(stores)?.bootstrap, { kind: 'incremental', state: 'done' })
  stop()
  await stopPublishing()
  slots(1)
  await untilServed()
  t.strictSame(await harness.findDifferences(), [])
  t.equal(await service.stop(), 0)
  slots(3)
  // Without a service the feed is requested from the archive's slot on.
  await publish(chain.tip.slot - 5)
  const ticking = startTicking()
  const alone = await load()
  ticking()
  t.equal(alone.code, 0, alone.output)
  t.strictSame(examineStore(prepared, 'one').differences, [])
})

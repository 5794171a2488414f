import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { readStatus } from '../../src/storage/status-file.js'
import { ADDRESSES } from '../../src/sandbox/solana/addresses.js'
import { serveArchives } from '../fixtures/ingest/archive-server.js'
import { examineStore, trackChain } from '../fixtures/sandbox/chain-state.js'
import { call } from '../fixtures/processes/deployment.js'
import { startFeedHarness } from '../fixtures/ingest/feed-harness.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { canMount, mountDisk } from '../fixtures/processes/small-disk.js'
import { recordChain } from '../fixtures/ingest/snapshot-archive.js'
import { soakTest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

const MIB = 1024 ** 2
const DISK_BYTES = 192 * MIB
/** So much that a copy takes some tens of milliseconds. */
const LARGE = { count: 8, bytes: 4 * MIB }
const FULL = 'incremental failed: the copy of the live store cannot be written, its disk is full'
const SHORT_TIMEOUTS = { failuresMax: 2, gapAttemptsMax: 1, backoffInitialMs: 10, backoffMaxMs: 40 }

const skip = canMount(t) ? false : 'a disk cannot be mounted here'

soakTest('a disk that fills up while the live store is copied', { skip }, async t => {
  const { chain, feeds, slots } = await startFeedHarness(t, [{}, {}])
  const [lossy, whole] = feeds
  if (lossy === undefined || whole === undefined) throw new Error('two feeds')
  const state = trackChain(chain)
  const record = await recordChain({ chain, geyserUrl: whole.url })
  t.teardown(() => record.close())
  const files = await serveArchives(t)
  const feed = { endpoint: lossy.url, ...SHORT_TIMEOUTS, backoffLongMs: 100 }
  const prepared = await prepareServe(
    t,
    { one: feed },
    {
      processes: { edgeCount: 1 },
      store: { diskReserveBytes: 1 },
      bootstrap: { pollMs: 20, firstBlockMs: 10_000, snapshotPollMs: 50 },
      status: { writeMs: 30, staleMs: 5_000 },
      networks: [
        {
          id: 'one',
          feed: { ...feed, startSlot: chain.options.firstSlot },
          repair: { stepAttemptsMax: 1, sourcesPauseMs: 200, stepsPauseMs: 200 },
          repairSteps: ['incremental'],
          snapshots: [`${files.url}/incremental-snapshot.tar.bz2`],
        },
      ],
    },
  )
  const accounts = join(prepared.dataDir, 'accounts')
  const disk = mountDisk(t, accounts, DISK_BYTES)
  const archives = join(prepared.dataDir, '..', 'archives')
  mkdirSync(archives)
  files.serve(archives)
  const stores = join(accounts, 'one')
  for (let index = 0; index < LARGE.count; index += 1) {
    chain.load(Buffer.alloc(32, 200 + index), {
      lamports: 10n ** 12n,
      owner: ADDRESSES.system,
      executable: false,
      rentEpoch: 0n,
      data: Buffer.alloc(LARGE.bytes, index + 1),
    })
    slots(1)
  }
  const service = await prepared.start()
  const url = prepared.urlOf('one')
  const tipOf = async (): Promise<number> => {
    const { context } = (await call(url, 'getLatestBlockhash', [])) as { context: { slot: number } }
    return context.slot
  }
  const arrived = (): Promise<void> =>
    until(`slot ${chain.tip.slot} is served`, () =>
      tipOf().then(
        slot => slot === chain.tip.slot,
        () => false,
      ),
    )
  await arrived()

  // The missed slots are in archives only, and newer archives are published repeatedly.
  const stored = chain.tip.slot
  const publish = async (): Promise<void> => {
    const newest = await record.writeIncremental(archives, stored - 1, chain.tip.slot)
    files.redirects.set('incremental-snapshot.tar.bz2', basename(newest))
  }
  files.setPaused(true)
  lossy.dropStreams()
  slots(9)
  lossy.forgetReplay()
  let isOver = false
  const living = (async () => {
    for (let last = 0; !isOver; await sleep(50)) {
      slots(1)
      if (chain.tip.slot < last + 8) continue
      last = chain.tip.slot
      await publish()
    }
  })()
  t.teardown(() => {
    isOver = true
    return living
  })

  await until('an archive is requested', () => files.pending.length > 0)
  const live = statSync(join(stores, '1', 'data.mdb')).size
  t.ok(live > LARGE.count * LARGE.bytes)
  // Enough for the copy, and not much more.
  disk.fill(live + 2 * MIB)
  const copied = join(stores, 'bootstrap', 'copy', 'data.mdb')
  files.setPaused(false)
  // Pending requests are never answered: the transfers start again.
  for (const response of files.pending) response.destroy()
  const endMs = performance.now() + 20_000
  while (!existsSync(copied) && performance.now() < endMs) await turn()
  t.ok(existsSync(copied), 'the copy has begun')
  disk.fill(4_096)

  await until('the reason is expected', () => service.output().includes(FULL))
  t.match(service.output(), /bootstrap failed/)
  await until('nothing of the copy is left', () => !existsSync(copied))
  await until('it is tried again, and refused', () =>
    service.output().includes('are needed: about'),
  )
  await until(
    'status names it',
    () => readStatus(stores)?.bootstrap?.reason?.includes('bytes free') === true,
  )
  t.match(readStatus(stores), { isHealthy: false, generation: '1' })
  for (let count = 0; count < 20; count += 1) t.equal(await tipOf(), stored, 'reads continue')

  disk.free()
  await until('the repair has ended', () => readStatus(stores)?.isHealthy === true)
  isOver = true
  await living
  await arrived()
  t.strictSame(await state.wrongAt(url), [], 'every account equals the chain’s')
  const { bootstrap, generation } = readStatus(stores) ?? {}
  t.match(bootstrap, { kind: 'incremental', state: 'done' })
  const folders = readdirSync(stores, { withFileTypes: true }).filter(entry => entry.isDirectory())
  t.strictSame(
    folders.map(({ name }) => name),
    [generation],
    'nothing else is left',
  )
  t.equal(await service.stop(), 0)
  t.strictSame(examineStore(prepared, 'one').differences, [])
})

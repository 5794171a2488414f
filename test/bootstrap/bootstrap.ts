import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { readStatus } from '../../src/storage/status-file.js'
import { startSandboxChain, type SandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { serveArchives } from '../fixtures/ingest/archive-server.js'
import { call, runToEnd } from '../fixtures/processes/deployment.js'
import { toBigInt } from '../fixtures/rpc/exact-json.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { recordChain } from '../fixtures/ingest/snapshot-archive.js'
import { soakTest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

type StoredAccount = {
  readonly lamports: unknown
  readonly owner: string
  readonly data: readonly [string, string]
}
type Answer = {
  readonly context: { readonly slot: number }
  readonly value: (StoredAccount | null)[]
}

const BOOTSTRAP = { pollMs: 50, firstBlockMs: 10_000, snapshotPollMs: 100, snapshotWaitMs: 20_000 }

/** A running chain, its recorded states, and a data directory for a service. */
const open = async (
  t: Test,
  options: Parameters<typeof startSandboxChain>[0] = {},
  more: (chain: SandboxChain) => object = () => ({}),
) => {
  const chain = await startSandboxChain({ slotMs: 60, trafficPerSecond: 100, ...options })
  t.teardown(() => chain.close())
  const record = await recordChain(chain)
  t.teardown(() => record.close())
  const prepared = await prepareServe(
    t,
    { one: { endpoint: chain.geyserUrl } },
    {
      processes: { edgeCount: 1 },
      bootstrap: BOOTSTRAP,
      status: { writeMs: 50, staleMs: 5_000 },
      networks: [{ id: 'one', feed: { endpoint: chain.geyserUrl }, ...more(chain) }],
    },
  )
  const archives = join(prepared.dataDir, '..', 'archives')
  mkdirSync(archives)
  const stores = join(prepared.dataDir, 'accounts', 'one')
  const slotline = (...args: readonly string[]) =>
    runToEnd(t, [...args, '--config', prepared.configFile, '--network', 'one'])
  const load = (...args: readonly string[]) => slotline('snapshot', 'load', ...args)
  return { chain, record, prepared, archives, stores, slotline, load }
}

const slotOf = async (url: string): Promise<number> => {
  const key = 'SysvarC1ock11111111111111111111111111111111'
  const { context } = (await call(url, 'getMultipleAccounts', [[key]])) as Answer
  return context.slot
}

/**
 * Accounts whose state in the service differs from the chain's, once both have stopped changing.
 */
const wrongAt = async (
  url: string,
  { chain, record }: { chain: SandboxChain; record: Awaited<ReturnType<typeof recordChain>> },
): Promise<readonly string[]> => {
  const wrong: string[] = []
  const all = await record.latest()
  for (let at = 0; at < all.length; at += 50) {
    const part = all.slice(at, at + 50)
    const keys = part.map(({ pubkey }) => bs58.encode(pubkey))
    const { value } = (await call(url, 'getMultipleAccounts', [
      keys,
      { encoding: 'base64' },
    ])) as Answer
    for (const [index, expected] of part.entries()) {
      const stored = value[index] ?? undefined
      const isSame =
        stored === undefined
          ? expected.lamports === 0n
          : toBigInt(stored.lamports) === expected.lamports &&
            stored.owner === bs58.encode(expected.owner) &&
            Buffer.from(stored.data[0], 'base64').equals(expected.data)
      if (!isSame) wrong.push(keys[index] ?? '')
    }
  }
  if (all.length < 20) wrong.push(`only ${all.length} accounts at slot ${chain.chain.tip.slot}`)
  return wrong
}

soakTest('a snapshot becomes the store of a running service', {}, async t => {
  const harness = await open(t)
  const { archives, chain, load, prepared, record, slotline, stores } = harness
  await until('the chain has some slots', () => chain.chain.tip.slot > 5)
  const service = await prepared.start()
  const url = prepared.urlOf('one')
  const slot = chain.chain.tip.slot - 1
  const full = await record.writeFull(archives, slot)

  const dry = await load(full, '--dry-run')
  t.equal(dry.code, 0, dry.output)
  t.match(dry.output, new RegExp(`slot ${slot}, [\\d,]+ accounts in scope, a store of about `))
  t.match(
    dry.output,
    /bytes, and [\d,]+ more while it is loaded; [\d,]{8,} are free; nothing was written\n$/,
  )
  t.notOk(existsSync(join(stores, '2')))

  const loaded = await load(full)
  t.equal(loaded.code, 0, loaded.output)
  t.match(loaded.output, /one: load\n.*one: replay\n/s)
  t.match(
    loaded.output,
    /network one: the new store is live, after \d+ s\nchecked: .*lamports.*\nnot checked: the lattice hash .*\n$/,
  )
  await until(
    'the new store is served and follows the chain',
    async () => (await slotOf(url)) > slot + 5,
  )
  t.strictSame(
    readdirSync(stores).filter(name => /^\d+$|^bootstrap$/.test(name)),
    ['2'],
  )
  const { bootstrap } = readStatus(stores) ?? {}
  t.match(bootstrap, { kind: 'snapshot', step: 'live', state: 'done', attempts: 1 })
  const status = await slotline('status')
  t.match(status.output, /bootstrap {2}snapshot from \S+snapshot-\d+-\w+\.tar\.zst: done\n/)

  const other = await load(full, full)
  t.equal(other.code, 1)
  t.match(other.output, /builds on slot \d+, but the full snapshot is of slot \d+\n$/)
  t.equal((await slotline('status')).code, 0, 'a failed bootstrap does not change the store')
  t.equal(await service.stop(), 0)
  const verified = await slotline('verify')
  t.equal(verified.code, 0, verified.output)
})

t.test('a bootstrap interrupted by kill -9 resumes and ends at the chain’s state', async t => {
  const harness = await open(t, { slotMs: 0, trafficPerSecond: 0 })
  const { archives, chain, prepared, record, load, slotline, stores } = harness
  const tick = (count: number): void => {
    for (let left = count; left > 0; left -= 1) {
      chain.chain.airdrop(Buffer.alloc(32, 100 + (chain.chain.tip.slot % 20)), 1_000_000n)
      chain.chain.tick()
    }
  }
  const files = await serveArchives(t)
  files.serve(archives)
  tick(6)
  const base = chain.chain.tip.slot
  const full = await record.writeFull(archives, base)
  files.redirects.set('snapshot.tar.bz2', basename(full))
  tick(3)
  const newer = await record.writeIncremental(archives, base, chain.chain.tip.slot)
  files.redirects.set('incremental-snapshot.tar.bz2', basename(newer))
  tick(2)
  const service = await prepared.start()
  const url = prepared.urlOf('one')
  files.setPaused(true, 'incremental')
  const locations = ['snapshot', 'incremental-snapshot'].map(
    name => `${files.url}/${name}.tar.bz2?api-key=qzx11`,
  )
  const loading = load(...locations)
  const ticking = setInterval(() => tick(1), 40)
  await until('the second archive is being read', () => files.pending.length === 1)
  t.match(readStatus(stores)?.bootstrap, { step: 'load', attempts: 1 })
  // Reads during the bootstrap see only what changed since the service started.
  const health = async () => (await fetch(new URL('/health', url))).text()
  await until('no edge reports itself healthy', async () => (await health()) === 'incomplete')
  await t.rejects(call(url, 'getHealth', []), { message: /-32005.*Node is unhealthy/ })
  const reason = 'incomplete: its first complete store is being loaded'
  t.match(readStatus(stores), { isHealthy: false, reason })
  t.match((await slotline('status')).output, `network one: not healthy: ${reason}`)
  process.kill(service.pidsOf('indexer')[0] ?? 0, 'SIGKILL')
  // What was sorted of the first one is on the disk, and its server has replaced it.
  files.redirects.delete('snapshot.tar.bz2')
  rmSync(full)
  files.setPaused(false)
  const loaded = await loading.finally(() => clearInterval(ticking))
  t.equal(loaded.code, 0, loaded.output)
  t.match(readStatus(stores)?.bootstrap, { step: 'live', state: 'done', attempts: 2 })
  t.notMatch(JSON.stringify(readStatus(stores)), /qzx11/)
  t.notMatch(service.output() + loaded.output, /qzx11/)
  // Until then the edge may read the store of before, which has the newest block too.
  await until('the edge is healthy after the bootstrap', async () => (await health()) === 'ok')
  await until('the store has every block', async () => (await slotOf(url)) === chain.chain.tip.slot)
  t.strictSame(await wrongAt(url, { chain, record }), [])
  t.equal(await call(url, 'getHealth', []), 'ok')
  t.match(readStatus(stores), { isHealthy: true })
  t.equal(await service.stop(), 0)
  t.equal((await slotline('verify')).code, 0)
})

soakTest('without a service the command itself loads the store', {}, async t => {
  const harness = await open(t)
  const { archives, chain, prepared, record, load, slotline } = harness
  await until('the chain has some slots', () => chain.chain.tip.slot > 8)
  const slot = chain.chain.tip.slot
  const full = await record.writeFull(archives, 4)
  const newer = await record.writeIncremental(archives, 4, slot)
  const loaded = await load(full, newer)
  t.equal(loaded.code, 0, loaded.output)
  const shown = await slotline('status')
  t.match(shown.output, 'not healthy: no indexer runs')
  t.match(shown.output, /slot \d+/)
  const service = await prepared.start()
  const url = prepared.urlOf('one')
  await until(
    'the service follows the chain from there',
    async () => (await slotOf(url)) > slot + 3,
  )
  t.equal(await service.stop(), 0)
  t.equal((await slotline('verify')).code, 0)
})

soakTest('a snapshot older than the feed’s replay is refused before it is loaded', {}, async t => {
  const harness = await open(t, { geyser: { replaySlotsMax: 2 } })
  const { archives, chain, prepared, record, load } = harness
  await until('the chain has some slots', () => chain.chain.tip.slot > 10)
  const full = await record.writeFull(archives, 4)
  const service = await prepared.start()
  const refused = await load(full)
  t.equal(refused.code, 1, refused.output)
  t.match(
    refused.output,
    /ends at slot 4, but the feed cannot be had from before slot \d+: load a snapshot of slot \d+/,
  )
  t.equal(await service.stop(), 0)
  const cases: [args: string[], message: RegExp][] = [
    [['none.tar.zst'], /none\.tar\.zst does not exist/],
    [[full, full, full], /at most one incremental/],
  ]
  for (const [args, message] of cases) {
    const { code, output } = await load(...args)
    t.equal(code, 1)
    t.match(output, message)
  }
})

soakTest('a scoped network from its upstream RPC', {}, async t => {
  const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
  const harness = await open(t, {}, ({ rpc }) => ({
    scope: { programs: [token] },
    accountsRpc: { endpoint: rpc.url, requestsPerSecondMax: 1_000 },
  }))
  const { chain, prepared, slotline } = harness
  await until('the chain has some slots', () => chain.chain.tip.slot > 5)
  const service = await prepared.start()
  const url = prepared.urlOf('one')
  const loaded = await slotline('bootstrap', 'rpc')
  t.equal(loaded.code, 0, loaded.output)
  const slot = chain.chain.tip.slot
  await until('the service follows the chain', async () => (await slotOf(url)) > slot)
  const { mint } = chain.samples
  const { value } = (await call(url, 'getMultipleAccounts', [[mint]])) as Answer
  t.ok(value[0], 'an account that has not changed since the feed began')
  t.equal(await service.stop(), 0)
  t.equal((await slotline('verify')).code, 0)
})

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { openIndexer } from '../../src/native/indexer.js'
import { openReader } from '../../src/native/reader.js'
import {
  openStoreLoader,
  packAccounts,
  type AccountVersion,
  type LoaderBase,
} from '../../src/native/loader.js'
import { defaults as archive } from '../../src/ingest/bootstrap/archive-options.js'
import { POOLS, STORE } from '../fixtures/rpc/store.js'

const BOUNDS = { sortMemoryBytes: 8 * 1024 ** 2, transactionBytes: 1024, diskReserveBytes: 0 }
const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
const BASE: LoaderBase = {
  slot: 9,
  parentSlot: 8,
  blockhash: key(9),
  blockHeight: 7,
  blockTime: 1_700_000_000,
  root: 9,
}

const version = (slot: number, byte: number, lamports: bigint, text = ''): AccountVersion => ({
  slot,
  pubkey: key(byte),
  owner: key(200),
  lamports,
  rentEpoch: 0n,
  executable: false,
  data: Buffer.from(text),
})

t.test('only a loader with checkpoints keeps what is in its folder', t => {
  const work = join(t.testdir(), 'work')
  const runs = join(work, 'accounts')
  openStoreLoader(work, STORE, { ...BOUNDS, checkpointMs: 1 }).close()
  t.ok(existsSync(runs))
  const loader = openStoreLoader(work, STORE, BOUNDS)
  t.notOk(existsSync(runs))
  t.equal(loader.endedArchive(0), undefined)
  loader.close()
  t.end()
})

t.test('the newest versions form a store that an indexer can continue', async t => {
  const dir = t.testdir()
  const store = join(dir, 'store')
  const loader = openStoreLoader(join(dir, 'work'), STORE, BOUNDS)
  await loader.push(0, packAccounts([version(5, 1, 10n, 'old'), version(6, 2, 20n)]))
  await loader.push(1, packAccounts([version(7, 2, 0n), version(5, 1, 11n, 'same slot')]))
  await loader.push(0, packAccounts([version(4, 3, 2n ** 64n - 1n, 'three')]))
  t.match(loader.counts(), { versions: 5, kept: 4, tombstones: 1, outOfScope: 0 })
  t.match(await loader.finish(store, BASE), { accounts: 2, dataBytes: 14, superseded: 2 })
  t.strictSame(loader.progress().rowsMerged, loader.progress().rowsTotal)
  await t.rejects(loader.push(0, packAccounts([])), /made its store/)
  loader.close()
  t.strictSame(readdirSync(join(dir, 'work')), [], 'no temporary file remains')

  const indexer = openIndexer(store, STORE)
  t.strictSame(indexer.check(), [])
  t.match(indexer.tip(), { slot: 9, parentSlot: 8, blockHeight: 7, blockTime: 1_700_000_000 })
  t.match(
    indexer.applyBlock({
      slot: 10,
      parentSlot: 9,
      blockhash: key(10),
      parentBlockhash: key(9),
      blockHeight: 8,
      accounts: [],
    }),
    { isNew: true },
  )
  indexer.close()
  const reader = openReader(store, STORE, POOLS)
  t.equal(reader.stats().accounts, 2)
  reader.close()
})

t.test('a copy is brought up to date', async t => {
  const dir = t.testdir()
  const [copy, store] = [join(dir, 'copy'), join(dir, 'store')]
  const load = (name: string) => openStoreLoader(join(dir, name), STORE, BOUNDS)
  const first = load('first')
  await first.push(0, packAccounts([version(5, 1, 10n, 'old'), version(5, 2, 20n)]))
  await first.finish(copy, BASE)
  first.close()
  const second = load('second')
  await second.push(1, packAccounts([version(11, 1, 0n), version(12, 3, 30n, 'new')]))
  const base = { ...BASE, slot: 12, parentSlot: 11, root: 12 }
  t.match(await second.update(copy, store, 8, base, undefined), { accounts: 1, dataBytes: 3 })
  second.close()
  const indexer = openIndexer(store, STORE)
  t.strictSame(indexer.check(), [])
  t.match([indexer.tip()?.slot, indexer.stats().accounts], [12, 2])
  indexer.close()
  t.notOk(existsSync(copy))
})

t.test('a failed load leaves no store', async t => {
  const dir = t.testdir()
  const store = join(dir, 'store')
  const open = () => openStoreLoader(join(dir, 'work'), STORE, BOUNDS)
  const cancelled = open()
  cancelled.cancel()
  await t.rejects(cancelled.finish(store, BASE), { code: 'cancelled' })
  cancelled.close()
  const absent = open()
  await t.rejects(absent.loadArchive(join(dir, 'none.tar.zst'), 0, archive), {
    code: 'snapshotTransfer',
  })
  absent.close()
  const dry = open()
  await dry.push(0, packAccounts([version(1, 1, 1n, 'dry')]))
  t.match(await dry.finishDry(), { accounts: 1, dataBytes: 3 })
  dry.close()
  t.notOk(existsSync(store))
})

const anyVersion = fc.record({
  slot: fc.integer({ min: 1, max: 9 }),
  pubkey: fc.integer({ min: 0, max: 5 }).map(key),
  owner: fc.integer({ min: 0, max: 2 }).map(key),
  lamports: fc.bigInt({ min: 0n, max: 3n }),
  rentEpoch: fc.constant(0n),
  executable: fc.boolean(),
  data: fc.uint8Array({ maxLength: 300 }),
})

t.test('packed accounts can be unpacked', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyVersion, { maxLength: 20 }), async versions => {
      const loader = openStoreLoader(join(t.testdir(), 'work'), STORE, BOUNDS)
      await loader.push(0, packAccounts(versions))
      const newest = new Map<string, AccountVersion>()
      for (const version of versions) {
        const name = Buffer.from(version.pubkey).toString('hex')
        if (version.slot >= (newest.get(name)?.slot ?? 0)) newest.set(name, version)
      }
      const existing = [...newest.values()].filter(({ lamports }) => lamports > 0n)
      const dataBytes = existing.reduce((sum, { data }) => sum + data.length, 0)
      const loaded = await loader.finishDry()
      loader.close()
      return loaded.accounts === existing.length && loaded.dataBytes === dataBytes
    }),
    { numRuns: 20 },
  )
})

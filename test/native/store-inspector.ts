import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openStoreInspector, type VerifyBounds } from '../../src/native/store-inspector.js'
import { openIndexer } from '../../src/native/indexer.js'
import { STORE } from '../fixtures/rpc/store.js'

const BOUNDS: VerifyBounds = {
  sliceRowsMax: 3,
  sliceMs: 1_000,
  programRowsMax: 1_000,
  differencesMax: 100,
}
const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)

const blockOf = (slot: number) => ({
  slot,
  parentSlot: slot - 1,
  blockhash: key(slot),
  parentBlockhash: key(slot - 1),
  blockHeight: slot,
  accounts: Array.from({ length: 20 }, (_, n) => ({
    pubkey: key(n + slot),
    lamports: BigInt(slot),
    rentEpoch: 0n,
    executable: false,
    owner: key(200),
    data: new Uint8Array(16).fill(n),
  })),
})

t.test('a store is verified in slices and copied', async t => {
  const dir = t.testdir({ store: {}, copy: {} })
  const indexer = openIndexer(join(dir, 'store'), STORE)
  indexer.applyBlock(blockOf(1))
  indexer.applyBlock(blockOf(2))
  indexer.close()

  const inspector = openStoreInspector(join(dir, 'store'), STORE)
  t.match(inspector.tip(), { slot: 2 })
  t.equal(inspector.stats().accounts, 21)
  const total = inspector.beginVerify(BOUNDS)
  let [rows, slices] = [0, 0]
  for (let isLast = false; !isLast; slices += 1) {
    const slice = inspector.verifySlice()
    rows += slice.rows
    isLast = slice.isLast
  }
  t.strictSame(inspector.differences(), [])
  t.equal(inspector.uncountedPrograms(), 0)
  t.ok(slices > 20, `${slices} slices`)
  t.ok(rows >= total, 'every row was checked')

  const copy = join(dir, 'copy')
  await inspector.copyTo(copy)
  await t.rejects(inspector.copyTo(copy), /exists/, 'never over a file')
  inspector.close()
  const copied = openIndexer(join(dir, 'copy'), STORE)
  t.strictSame(copied.check(), [])
  t.equal(copied.applyBlock(blockOf(3)).isNew, true, 'the copy accepts further blocks')
  copied.close()
})

t.test('a missing store is reported', t => {
  const dir = join(t.testdir(), 'none')
  mkdirSync(dir)
  t.throws(() => openStoreInspector(dir, STORE), {
    code: 'storeUnusable',
    message: /holds no store yet/,
  })
  t.end()
})

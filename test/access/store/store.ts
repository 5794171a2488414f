import t from 'tap'
import { openControlStore } from '../../../src/access/store/control-store.js'
import { openReader, openWriter } from '../../../src/access/store/store.js'
import { SCHEMA } from '../../../src/access/store/tables.js'
import { runOnFullDisk } from '../../fixtures/full-disk.js'

t.test('the writer creates the store, and the same build opens it again', async t => {
  const dir = t.testdir()
  await t.rejects(openReader(dir), { message: /control creates it/ })
  const store = await openWriter(dir)
  t.strictSame(store.meta.get('store'), { schema: SCHEMA, revision: 0 })
  await store.close()
  const reader = await openReader(dir)
  t.strictSame(reader.meta.get('store'), { schema: SCHEMA, revision: 0 })
  await reader.close()
})

t.test('a store of another layout is refused with the remedy', async t => {
  const dir = t.testdir()
  const store = await openWriter(dir)
  await store.transaction(() => store.meta.put('store', { schema: SCHEMA + 1, revision: 0 }))
  await store.close()
  const message = /layout 3, but this build reads 2; run the build that wrote it/
  await t.rejects(openWriter(dir), { message })
  await t.rejects(openReader(dir), { message })
})

t.test('a transaction that throws changes nothing', async t => {
  const store = await openWriter(t.testdir())
  const digest = new Uint8Array(32).fill(7)
  const record = { accessId: 'a', network: 'n', location: 'l' }
  const failure = new Error('half way')
  const half = store.transaction(() => {
    store.digests.put(digest, record)
    throw failure
  })
  await t.rejects(half, failure)
  t.equal(store.digests.get(digest), undefined)
  await store.transaction(() => store.digests.put(digest, record))
  t.strictSame(store.digests.get(digest), record)
  t.strictSame([...store.digests.from(new Uint8Array())], [[Buffer.from(digest), record]])
  await store.transaction(() => store.digests.remove(digest))
  t.equal(store.digests.get(digest), undefined)
  await store.close()
})

t.test('a value of another shape is refused', async t => {
  const store = await openWriter(t.testdir())
  const bytes = store.meta.encode({ schema: 1, revision: 0 })
  t.throws(() => store.digests.decode(bytes), { message: /table digests: accessId is not of/ })
  await store.close()
})

t.test('the store reports its use', async t => {
  const store = await openWriter(t.testdir())
  const { usedBytes, mapBytes, readers } = store.stats()
  t.ok(usedBytes > 0 && usedBytes < 1024 ** 2, `${usedBytes}`)
  t.equal(mapBytes, 1024 ** 3)
  t.ok(readers >= 0)
  t.equal(store.clearStaleReaders(), 0)
  await store.close()
})

t.test('on a full disk only changes fail', async t => {
  const dir = t.testdir()
  const result = await runOnFullDisk('test/fixtures/access/access-full-disk', dir)
  t.match(result, { written: Number, failed: 5 })
  const { written } = result as { written: number }
  t.ok(written > 20)
  const store = openControlStore(dir)
  const { sealingKeyId } = store.meta.get(`filler ${written - 1}`) ?? {}
  t.equal(sealingKeyId?.length, 3_000, 'the last one that was confirmed')
  await store.transaction(() => store.meta.put('more', { sealingKeyId: '' }))
  t.ok(store.meta.get('more'), 'the store accepts writes once there is space')
  await store.close()
})

import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  closeLmdbWriter,
  makeRoom,
  openLmdb,
  openLmdbTable,
  readLmdbStats,
} from '../../src/storage/lmdb.js'
import { ownDir } from '../fixtures/own-dir.js'
import { canMount, mountDisk } from '../fixtures/processes/small-disk.js'

const MIB = 1024 ** 2

const skip = canMount(t) ? false : 'a disk cannot be mounted here'

t.test('on a full disk a store uses its room before it refuses a commit', { skip }, async t => {
  const path = join(ownDir(t), 'store')
  const disk = mountDisk(t, path, 6 * MIB)
  const options = { path, mapBytes: 64 * MIB, readersMax: 16, tablesMax: 4, isReadOnly: false }
  const store = openLmdb(options)
  const table = openLmdbTable<Uint8Array>(store, 'rows', 'binary')
  if (table === undefined) throw new Error('no table')
  const room = (): number => statSync(join(path, 'data.mdb')).size - readLmdbStats(store).usedBytes
  const put = async (nth: number): Promise<void> => {
    makeRoom(store)
    await table.put(Buffer.of(nth), Buffer.alloc(100_000, nth))
    await store.flushed
  }
  await put(0)
  t.ok(room() >= MIB)
  disk.fill(0)
  const refused = async (): Promise<number> => {
    for (let nth = 1; nth < 100; nth++)
      try {
        await put(nth)
      } catch (error) {
        t.match(error, { code: 'ENOSPC' })
        return nth
      }
    throw new Error('it is never refused')
  }
  const first = await refused()
  t.ok(first > 5, `${first - 1} commits after the disk is full`)
  t.ok(room() > MIB / 2, 'the last commit had its room')
  t.strictSame(table.get(Buffer.of(first - 1)), Buffer.alloc(100_000, first - 1))
  disk.free()
  await put(first)
  t.ok(room() >= MIB, 'with space it goes on')
  await closeLmdbWriter(store)
})

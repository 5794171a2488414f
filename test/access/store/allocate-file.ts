import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { allocateFile } from '../../../src/access/store/allocate-file.js'

t.test('a file is created and extended, never truncated', async t => {
  const path = join(t.testdir(), 'file')
  allocateFile(path, 100_000)
  const { size, blocks, mode } = statSync(path)
  t.equal(size, 100_000)
  t.ok(blocks * 512 >= 100_000, 'without a hole')
  t.equal(mode & 0o777, 0o600)
  writeFileSync(path, 'a'.repeat(10))
  allocateFile(path, 20)
  t.equal(readFileSync(path, 'latin1'), `${'a'.repeat(10)}${'\0'.repeat(10)}`)
  allocateFile(path, 5)
  t.equal(statSync(path).size, 20)
  t.throws(() => allocateFile('/dev/full', 10), { code: 'ENOSPC' })
  t.throws(() => allocateFile(join(path, 'no'), 10), { code: 'ENOTDIR' })
})

import { mkdtempSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { disableCpuIdle } from '../../src/supervision/cpu-idle.js'

const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // The descriptor of the listing itself is closed by now.
      return []
    }
  })

t.test('the latency file stays open until it is released', async t => {
  const path = join(mkdtempSync(join(tmpdir(), 'cpu-idle-')), 'latency')
  t.throws(() => disableCpuIdle(path), { code: 'ENOENT' }, 'a missing file is not created')
  writeFileSync(path, '')
  const release = disableCpuIdle(path)
  t.strictSame([...readFileSync(path)], [0, 0, 0, 0], 'zero latency as 32 bits')
  t.ok(openFiles().includes(path))
  release()
  t.notOk(openFiles().includes(path), 'closed after release')
})

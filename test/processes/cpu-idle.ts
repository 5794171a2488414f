import { mkdtempSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { keepAwake } from '../../src/processes/cpu-idle.js'

const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // The one that lists them is gone by now.
      return []
    }
  })

t.test('the wish is written and stays open', async t => {
  const path = join(mkdtempSync(join(tmpdir(), 'awake-')), 'latency')
  t.throws(() => keepAwake(path), { code: 'ENOENT' }, 'nothing is made where there is no such file')
  writeFileSync(path, '')
  const rest = keepAwake(path)
  t.strictSame([...readFileSync(path)], [0, 0, 0, 0], 'no latency, in 32 bits')
  t.ok(openFiles().includes(path))
  rest()
  t.notOk(openFiles().includes(path), 'until it is taken back')
})

import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sharedCells } from '../../../src/native/os.js'
import { defaults } from '../../../src/submission/store/options.js'
import { senderPath } from '../../../src/submission/store/store-reader.js'
import { parseId } from '../../../src/submission/store/submission-id.js'
import { openSubmissionStore, walBytes } from '../../../src/submission/store/submission-store.js'
import { scriptPath } from '../../fixtures/repository.js'

t.test('a killed sender has recorded everything that it had begun', async t => {
  const dir = t.testdir()
  const script = scriptPath('test/fixtures/submission/store-writer')
  const begun: string[] = []
  const ended = new Set<string>()
  for (const lines of [1, 30, 200]) {
    const writer = spawn(process.execPath, [...process.execArgv, script, dir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    let count = 0
    writer.stdout.setEncoding('utf8')
    for await (const chunk of writer.stdout) {
      text += String(chunk)
      const whole = text.split('\n')
      text = whole.pop() ?? ''
      for (const line of whole) {
        const [step, id = ''] = line.split(' ')
        if (step === 'begun') begun.push(id)
        if (step === 'ended') ended.add(id)
        count++
      }
      if (count > lines) writer.kill('SIGKILL')
    }
  }
  t.ok(begun.length > 100)

  mkdirSync(senderPath(dir), { recursive: true })
  const cells = sharedCells(join(senderPath(dir), 'write-ahead-log'), walBytes(defaults) / 8)
  const wal = new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength)
  const onFault = (fault: unknown) => t.fail(String(fault))
  const modules = { wal, now: Date.now, onFault }
  const store = await openSubmissionStore(senderPath(dir), modules)
  const outcomes = begun.map(text => {
    const id = parseId(text)
    return [text, id && store.get(id)?.outcome]
  })
  t.strictSame(
    outcomes.filter(([, outcome]) => outcome !== 'accepted' && outcome !== 'unknown'),
    [],
  )
  t.strictSame(
    outcomes.filter(([id, outcome]) => ended.has(id ?? '') && outcome !== 'accepted'),
    [],
  )
  await store.close()
})

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { explainError } from '../../../src/shared/files/system-error.js'
import { ownDir } from '../../fixtures/own-dir.js'

/** What an operator reads where a function fails. */
const explain = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    return explainError(error)
  }
  return ''
}

t.test('an error of the system is a sentence with its path', async t => {
  const dir = ownDir(t)
  const file = join(dir, 'file')
  writeFileSync(file, '')
  t.equal(
    explain(() => readFileSync(join(dir, 'none'))),
    `${dir}/none does not exist`,
  )
  t.equal(
    explain(() => readFileSync(join(file, 'below'))),
    `${file}/below: not a directory`,
  )
  t.equal(
    explain(() => writeFileSync(file, '', { flag: 'wx' })),
    `${file}: file already exists`,
  )
})

t.test('every other error says what it says', async t => {
  t.equal(explainError(new Error('a reason')), 'a reason')
  t.equal(explainError('a text'), 'a text')
  // Without a path: it has an address, or nothing to add.
  t.match(
    explain(() => readFileSync(-1)),
    /fd/,
  )
})

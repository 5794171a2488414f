import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { formatConfiguration, toConfigReference } from '../../src/config/reference.js'
import { repositoryPath } from '../fixtures/repository.js'

const read = (name: string): string => readFileSync(repositoryPath(name), 'utf8')

/** More than this nobody reads: what is no operator's is a constant of its part. */
const OPTIONS_MAX = 200

t.test('every option has a kind and a reason', t => {
  const sections = toConfigReference()
  t.ok(sections.length > 10)
  for (const { title, rows } of sections)
    for (const { name, type, reason } of rows) {
      t.ok(type.length > 3, `${title} ${name}: kind`)
      t.ok(reason.length > 10, `${title} ${name}: reason`)
      t.notMatch(`${type}${reason}`, '\n', `${title} ${name}: one line`)
      if (type.startsWith('an integer') && name !== 'port')
        t.match(type, /\(\w+\)$/, `${title} ${name}: unit`)
    }
  t.end()
})

t.test('there are few enough options to read', t => {
  const count = toConfigReference().reduce((sum, { rows }) => sum + rows.length, 0)
  t.ok(count <= OPTIONS_MAX, `${count} options: is a new one nothing that an operator sets?`)
  t.end()
})

t.test('docs/configuration.md matches the code', t => {
  const printed = formatConfiguration()
  if (process.env['SLOTLINE_DOCS'] === 'write')
    writeFileSync(repositoryPath('docs/configuration.md'), printed)
  t.equal(
    read('docs/configuration.md'),
    printed,
    'regenerate it: SLOTLINE_DOCS=write node dist/test/test/config/reference.js',
  )
  t.end()
})

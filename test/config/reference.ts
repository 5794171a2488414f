import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { formatConfiguration, toConfigReference } from '../../src/config/reference.js'
import { repositoryPath } from '../fixtures/repository.js'

const read = (name: string): string => readFileSync(repositoryPath(name), 'utf8')

const sources = readdirSync(repositoryPath('src'), { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .map(name => read(`src/${name}`))
  .filter(source => source.includes('export const defaults = '))

t.test('every option has a kind and a reason', t => {
  const sections = toConfigReference(sources)
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

t.test('docs/configuration.md matches the code', t => {
  const printed = formatConfiguration(sources)
  if (process.env['SLOTLINE_DOCS'] === 'write')
    writeFileSync(repositoryPath('docs/configuration.md'), printed)
  t.equal(
    read('docs/configuration.md'),
    printed,
    'regenerate it: SLOTLINE_DOCS=write npx tap run test/config/reference.ts',
  )
  t.end()
})

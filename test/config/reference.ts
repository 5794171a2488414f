import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { CONSTANTS } from '../../src/config/constants.js'
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

t.test('pages name no constant as if it were an option', t => {
  const options = new Set<string>()
  for (const { title, rows } of toConfigReference()) {
    const table = title.startsWith('[') ? `${title.replaceAll(/[[\]]/g, '')}.` : ''
    for (const { name } of rows) options.add(name).add(`${table}${name}`)
  }
  const known = Array.from(options)
  const constants = new Set(CONSTANTS.map(keys => keys.at(-1) ?? ''))
  const pages = readdirSync(repositoryPath('docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md') && !name.startsWith('decisions/'))
    .map(name => `docs/${name}`)
  for (const page of [...pages, 'README.md'])
    for (const [, word = ''] of read(page).matchAll(/`([a-z]\w*(?:\.[a-z]\w*)*)`/gi)) {
      if (!constants.has(word.split('.').at(-1) ?? '')) continue
      const isOption = known.some(name => name === word || name.endsWith(`.${word}`))
      t.ok(isOption, `${page}: ${word} is an option`)
    }
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

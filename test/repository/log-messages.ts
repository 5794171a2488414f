import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readPage } from '../fixtures/docs/markdown.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const sources = ['src', 'native']
  .flatMap(folder =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter(name => /\.(ts|rs)$/.test(name) && !/(^|\/)target\//.test(name))
      .map(name => readFileSync(`${root}${folder}/${name}`, 'utf8')),
  )
  .join('\n')

t.test('every log message of operations.md is logged', async t => {
  const [, section = ''] = readPage('docs/operations.md').split('\n## Log\n')
  const [table = ''] = section.split('\n## ')
  const cells = [...table.matchAll(/^\| (`.+?`) \| (?:error|warn|info) \|/gm)].map(
    ([, cell]) => cell,
  )
  t.ok(cells.length > 0)
  for (const [, message = ''] of cells.join().matchAll(/`(.+?)`/g))
    t.ok(sources.includes(message.replace(/ ?…$/, '')), message)
})

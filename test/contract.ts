import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { anchorsOf, readPage } from './fixtures/docs/markdown.js'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Folders with text of ours. */
const FOLDERS = ['src', 'native', 'test', 'bench', 'docs', 'scripts']
const SKIPPED = /(^|\/)(node_modules|target|artefacts)\//
const TEXT = /\.(ts|tsx|mjs|js|rs|md|json|toml|css|html)$/

/** Every text file of the repository that people write. */
const files = [
  ...readdirSync(root).filter(name => name.endsWith('.md')),
  ...FOLDERS.flatMap(folder =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' }).map(
      name => `${folder}/${name}`,
    ),
  ),
].filter(name => TEXT.test(name) && !SKIPPED.test(name))

/** Names of rules that a text refers to. */
const rulesIn = (text: string): string[] =>
  Array.from(text.matchAll(/contract: ([a-z][a-z0-9]*(?:-[a-z0-9]+)*)/g), ([, name = '']) => name)

t.test('every reference to a rule of the contract leads to its heading', async t => {
  const rules = new Set(anchorsOf(readPage('docs/contract.md')))
  const missing = files.flatMap(file =>
    rulesIn(readFileSync(root + file, 'utf8'))
      .filter(name => !rules.has(name))
      .map(name => `${file}: contract: ${name}`),
  )
  t.strictSame(missing, [])
})

import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { anchorsOf, readPage } from '../fixtures/docs/markdown.js'
import { repositoryRoot } from '../fixtures/repository.js'

/** Folders with text of ours. */
const FOLDERS = ['src', 'native', 'test', 'bench', 'docs', 'scripts']
const SKIPPED = /(^|\/)(node_modules|target|artefacts)\//
const TEXT = /\.(ts|tsx|mjs|js|rs|md|json|toml|css|html)$/

/** Every text file of the repository that people write. */
const files = [
  ...readdirSync(repositoryRoot).filter(name => name.endsWith('.md')),
  ...FOLDERS.flatMap(folder =>
    readdirSync(`${repositoryRoot}${folder}`, { recursive: true, encoding: 'utf8' }).map(
      name => `${folder}/${name}`,
    ),
  ),
].filter(name => TEXT.test(name) && !SKIPPED.test(name))

/** Names of rules that a text refers to. */
const rulesIn = (text: string): string[] =>
  Array.from(text.matchAll(/contract: ([a-z][a-z0-9]*(?:-[a-z0-9]+)*)/g), ([, name = '']) => name)

t.test('every rule of the contract has its own name', async t => {
  const rules = [...readPage('docs/contract.md').matchAll(/^### (.+)$/gm)].map(([, name]) => name)
  t.ok(rules.length > 0)
  for (const name of rules) t.match(name, /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/)
  t.equal(new Set(rules).size, rules.length)
})

t.test('every reference to a rule of the contract leads to its heading', async t => {
  const rules = new Set(anchorsOf(readPage('docs/contract.md')))
  const missing = files.flatMap(file =>
    rulesIn(readFileSync(repositoryRoot + file, 'utf8'))
      .filter(name => !rules.has(name))
      .map(name => `${file}: contract: ${name}`),
  )
  t.strictSame(missing, [])
})

/**
 * References to texts that are not in the repository, such as numbered sections of a specification.
 */
const OUTSIDE = [
  /\b(spec|specification|design|style|house)[.\s*/]{0,6}§/i,
  /\b(spec|design|style|house|machines)\.(md|txt)\b/,
  /\bfacts\/(reads|ingest|submission|operations|server)/,
  /\b[Ss]pec (design|says)\b/,
]
/** Lists the patterns themselves. */
const ALLOWED = new Set(['test/repository/contract.ts'])

const outsideIn = (text: string): string[] =>
  OUTSIDE.flatMap(pattern => pattern.exec(text)?.[0] ?? [])

t.test('nothing refers to a text outside the repository', async t => {
  const found = files
    .filter(file => !ALLOWED.has(file))
    .flatMap(file =>
      outsideIn(readFileSync(repositoryRoot + file, 'utf8')).map(text => `${file}: ${text}`),
    )
  t.strictSame(found, [])
})

t.test('the check sees such references', async t => {
  const cases = ['spec §4.1', '(Spec\n * §1.2)', 'design §6', 'see design.md', 'facts/reads §2']
  for (const text of cases) t.ok(outsideIn(text).length > 0, text)
  for (const text of ['RFC 5952 §4.2', 'redesign', 'artefacts/a']) t.strictSame(outsideIn(text), [])
})

import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, normalize } from 'node:path/posix'
import t from 'tap'
import {
  anchorsOf,
  isInRepository,
  linksOf,
  pages,
  pathsOf,
  readPage,
} from '../fixtures/docs/markdown.js'
import { repositoryRoot } from '../fixtures/repository.js'

/** What is wrong with the links of one page. */
const faultsOf = (page: string): string[] =>
  linksOf(readPage(page)).flatMap(target => {
    if (/^https?:/.test(target)) return []
    const [path = '', anchor] = target.split('#')
    const file = path === '' ? page : normalize(`${dirname(page)}/${path}`)
    if (!isInRepository(file)) return [`${page}: ${target} leads nowhere`]
    if (anchor === undefined) return []
    return anchorsOf(readPage(file)).includes(anchor) ? [] : [`${page}: ${target} has no heading`]
  })

t.test('every link of the documentation leads to a file and a heading', async t => {
  t.strictSame(pages().flatMap(faultsOf), [])
})

t.test('every source that the documentation names exists', async t => {
  const missing = pages().flatMap(page =>
    pathsOf(readPage(page))
      .filter(path => !isInRepository(path))
      .map(path => `${page}: ${path}`),
  )
  t.strictSame(missing, [])
})

t.test('the check finds broken links', async t => {
  t.strictSame(linksOf('[a](b.md#c) `[d](e)` [f](https://g)'), ['b.md#c', 'https://g'])
  t.strictSame(linksOf('```md\n[a](b)\n```\n[c](d)'), ['d'])
  t.strictSame(anchorsOf('# One `two`, three\n```sh\n# no\n```\n## Four – five'), [
    'one-two-three',
    'four--five',
  ])
  t.strictSame(pathsOf('`src/a.ts`, `native/store/src/`, `docs/`, `src`'), [
    'src/a.ts',
    'native/store/src/',
  ])
})

const INDEX = 'docs/decisions/README.md'
const records = pages()
  .filter(page => /^docs\/decisions\/\d{4}-/.test(page))
  .map(page => basename(page))
  .sort()

t.test('the index lists every decision record once, in the order of numbers', async t => {
  t.ok(records.length > 0)
  const listed = linksOf(readPage(INDEX)).filter(target => /^\d{4}-/.test(target))
  t.strictSame(listed, records)
})

t.test('the index has the title and the status of each decision record', async t => {
  const rows = readPage(INDEX).split('\n')
  for (const record of records) {
    const text = readPage(`docs/decisions/${record}`)
    const [, number, title] = /^# (\d{4}) (.+)$/m.exec(text) ?? []
    const status = /^Status: (accepted|superseded by \d{4}), \d{4}-\d{2}-\d{2}$/m.exec(text)?.[1]
    const row = rows.find(line => line.startsWith(`| ${number} | [${title}](${record}) |`))
    t.ok(status !== undefined && row?.endsWith(`| ${status} |`), record)
  }
})

t.test('no two decisions share a number', async t => {
  const numbers = pages().flatMap(page => /^docs\/decisions\/(\d{4})-/.exec(page)?.[1] ?? [])
  t.equal(new Set(numbers).size, numbers.length, numbers.join(' '))
  t.ok(numbers.length > 0)
})

const sources = ['src', 'native']
  .flatMap(folder =>
    readdirSync(`${repositoryRoot}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter(name => /\.(ts|rs)$/.test(name) && !/(^|\/)target\//.test(name))
      .map(name => readFileSync(`${repositoryRoot}${folder}/${name}`, 'utf8')),
  )
  .join('\n')

t.test('every log message of operations/log.md is logged', async t => {
  const page = readPage('docs/operations/log.md')
  const cells = [...page.matchAll(/^\| (`.+?`) \| (?:error|warn|info) \|/gm)].map(
    ([, cell]) => cell,
  )
  t.ok(cells.length > 0)
  for (const [, message = ''] of cells.join().matchAll(/`(.+?)`/g))
    t.ok(
      message.split('…').every(part => sources.includes(part.trim())),
      message,
    )
})

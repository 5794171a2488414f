import { dirname, normalize } from 'node:path/posix'
import t from 'tap'
import {
  anchorsOf,
  isInRepository,
  linksOf,
  pages,
  pathsOf,
  readPage,
} from '../fixtures/docs/markdown.js'

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

t.test('no two decisions share a number', async t => {
  const numbers = pages().flatMap(page => /^docs\/decisions\/(\d{4})-/.exec(page)?.[1] ?? [])
  t.equal(new Set(numbers).size, numbers.length, numbers.join(' '))
  t.ok(numbers.length > 0)
})

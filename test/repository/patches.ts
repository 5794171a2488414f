import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { isInRepository, readPage } from '../fixtures/docs/markdown.js'
import { repositoryPath } from '../fixtures/repository.js'

const FOLDER = 'native/uws/patches'
const patches = readdirSync(repositoryPath(FOLDER)).sort()

/** The paragraphs of a patch before its diffs. */
const headOf = (name: string): string => {
  const text = readFileSync(repositoryPath(`${FOLDER}/${name}`), 'utf8')
  return text.slice(0, text.indexOf('\n--- a/'))
}

t.test('each patch of the server names its tests and what it is upstream', async t => {
  for (const name of patches) {
    const head = headOf(name)
    const [, tests = '', upstream = ''] = /^Test: ([^]*)^Upstream: ([^]*)/m.exec(head) ?? []
    t.not(upstream.trim(), '', `${name}: upstream`)
    const paths = tests.match(/(?:test|native)\/[\w./-]+\w/g) ?? []
    t.ok(paths.length > 0, `${name}: tests`)
    for (const path of paths) t.ok(isInRepository(path), `${name}: ${path}`)
  }
})

t.test('the table of patches lists them in the order in which they are applied', async t => {
  const links = readPage('native/uws/README.md').matchAll(/^\| \[[\w-]+\]\(patches\/([\w.-]+)\)/gm)
  t.strictSame(
    Array.from(links, ([, name]) => name),
    patches,
  )
})

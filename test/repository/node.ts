import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { repositoryPath, repositoryUrl } from '../fixtures/repository.js'

const read = (path: string): string => readFileSync(repositoryPath(path), 'utf8')
const { engines } = JSON.parse(read('package.json')) as {
  readonly engines: { readonly node: string }
}
const releases = JSON.parse(read('scripts/node-releases.json')) as Readonly<
  Record<string, { readonly version: string }>
>

/** A release of a major version that is not older than the first one named. */
const isIn = (version: string, range: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [firstMajor = 0, firstMinor = 0] = range.replace('^', '').split('.').map(Number)
  return major === firstMajor && minor >= firstMinor
}

t.test('`engines` names the versions of Node that are tested, and no other', async t => {
  const ranges = engines.node.split(' || ')
  t.ok(ranges.every(range => /^\^\d+\.\d+\.0$/.test(range)))
  t.equal(ranges.length, Object.keys(releases).length)
  for (const [major, { version }] of Object.entries(releases)) {
    t.equal(version.split('.')[0], major)
    t.equal(ranges.filter(range => isIn(version, range)).length, 1, version)
  }
})

const RANGES = '^20.19.0 || ^22.13.0'
const judgements: [version: string, judgement: object][] = [
  ['18.20.8', { refusal: `Node 18.20.8 is too old: Slotline runs on Node ${RANGES}` }],
  ['20.18.3', { refusal: `Node 20.18.3 is too old: Slotline runs on Node ${RANGES}` }],
  ['20.19.0', {}],
  ['21.7.3', { warning: `Node 21.7.3 is not tested, only Node ${RANGES} is` }],
  ['22.12.0', { refusal: `Node 22.12.0 is too old: Slotline runs on Node ${RANGES}` }],
  ['22.23.3', {}],
  ['25.0.0', { warning: `Node 25.0.0 is not tested, only Node ${RANGES} is` }],
]

t.test('the set-up refuses an old Node and warns of one that is not tested', async t => {
  const { judgeNode } = (await import(repositoryUrl('scripts/judge-node.mjs').href)) as {
    readonly judgeNode: (version: string, ranges: string) => object
  }
  for (const [version, judgement] of judgements)
    t.strictSame(judgeNode(version, RANGES), judgement, version)

  const asOldNode =
    `data:text/javascript,Object.defineProperty(process,'versions',` +
    `{value:{...process.versions,node:'18.20.8'}})`
  const setup = repositoryPath('scripts/setup.mjs')
  const args = ['--import', asOldNode, setup]
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  t.equal(status, 1)
  t.equal(stderr, `slotline: Node 18.20.8 is too old: Slotline runs on Node ${engines.node}\n`)
})

t.test('pages name these versions', async t => {
  const [last = '', ...others] = Object.keys(releases).toReversed()
  const list = `Node ${others.toReversed().join(', ')} or ${last}`
  for (const page of ['README.md', 'CONTRIBUTING.md', 'docs/operations.md'])
    t.match(read(page), list, page)
})

t.test('processes that a test starts run on the Node of the test', async t => {
  t.equal(
    execFileSync('node', ['-p', 'process.version'], { encoding: 'utf8' }).trim(),
    process.version,
  )
  const wanted = process.env['SLOTLINE_TEST_NODE']
  if (wanted !== undefined) t.equal(process.version, `v${wanted}`)
})

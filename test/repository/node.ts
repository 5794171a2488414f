import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ownDir } from '../fixtures/own-dir.js'
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
  const { judgeNode } = (await import(repositoryUrl('scripts/judge-versions.mjs').href)) as {
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

const manifest = read('native/Cargo.toml')
const oldest = /^rust-version = "(.*)"$/m.exec(manifest)?.[1] ?? ''

t.test('the set-up refuses an old Rust, or none, before it downloads anything', async t => {
  const { judgeRust } = (await import(repositoryUrl('scripts/judge-versions.mjs').href)) as {
    readonly judgeRust: (line: string | undefined, oldest: string) => object
  }
  const advice = 'Slotline is built with Rust 1.90 or newer (rustup update, https://rustup.rs)'
  const lines: [line: string | undefined, judgement: object][] = [
    ['rustc 1.89.0 (29483883e 2025-08-04)', { refusal: `Rust 1.89.0 is too old: ${advice}` }],
    ['rustc 0.99.0', { refusal: `Rust 0.99.0 is too old: ${advice}` }],
    ['rustc 1.90.0 (1159e78c4 2025-09-14)', {}],
    ['rustc 1.100.0-nightly', {}],
    ['rustc 2.0.0', {}],
    ['error: no toolchain', { refusal: `Rust is missing: ${advice}` }],
    [undefined, { refusal: `Rust is missing: ${advice}` }],
  ]
  for (const [line, judgement] of lines)
    t.strictSame(judgeRust(line, '1.90'), judgement, String(line))

  const dir = ownDir(t)
  const called = join(dir, 'called')
  for (const name of ['npm', 'npx', 'cargo'])
    writeFileSync(join(dir, name), `#!/bin/sh\necho ${name} >>${called}\nexit 1\n`, { mode: 0o755 })
  writeFileSync(join(dir, 'rustc'), '#!/bin/sh\necho rustc 1.63.0\n', { mode: 0o755 })
  const { status, stderr } = spawnSync(process.execPath, [repositoryPath('scripts/setup.mjs')], {
    encoding: 'utf8',
    // Other headers than before: the addon must be compiled.
    env: { ...process.env, PATH: `${dir}:${process.env['PATH']}`, SLOTLINE_NODE_HEADERS: dir },
  })
  t.equal(status, 1)
  t.equal(stderr, `slotline: Rust 1.63.0 is too old: ${advice.replace('1.90', oldest)}\n`)
  t.notOk(existsSync(called), 'nothing else was started')
})

t.test('pages name these versions', async t => {
  const [last = '', ...others] = Object.keys(releases).toReversed()
  const list = `Node ${others.toReversed().join(', ')} or ${last}`
  for (const page of ['README.md', 'CONTRIBUTING.md', 'docs/operations/README.md'])
    t.match(read(page), list, page)
  for (const page of ['README.md', 'CONTRIBUTING.md'])
    t.match(read(page), `Rust ${oldest} or newer`, page)
})

t.test('processes that a test starts run on the Node of the test', async t => {
  t.equal(
    execFileSync('node', ['-p', 'process.version'], { encoding: 'utf8' }).trim(),
    process.version,
  )
  const wanted = process.env['SLOTLINE_TEST_NODE']
  if (wanted !== undefined) t.equal(process.version, `v${wanted}`)
})

import { execFile, spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse, stringify } from 'smol-toml'
import t, { type Test } from 'tap'
import { repositoryRoot } from '../../fixtures/repository.js'
import { skipAbsent } from '../../fixtures/skip-absent.js'

const CONFIGURATION = [
  'package.json',
  'tsconfig.json',
  '.oxlintrc.json',
  '.dependency-cruiser.mjs',
  'knip.json',
]
const SCRIPT = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')).scripts
  .lint as string

type Result = { readonly code: number; readonly output: string }

/**
 * A checkout with the configuration of this one and only these files. Outside this one: the tools
 * pass over a folder that its .gitignore names, as that of tap is.
 */
const openCheckout = (t: Test, files: Readonly<Record<string, string>>): string => {
  const dir = mkdtempSync(join(tmpdir(), 'slotline-lint-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  for (const name of CONFIGURATION) cpSync(join(repositoryRoot, name), join(dir, name))
  symlinkSync(join(repositoryRoot, 'node_modules'), join(dir, 'node_modules'))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    writeFileSync(join(dir, name), text)
  }
  const { error, status, stderr } = spawnSync('git', ['init', '--quiet'], {
    cwd: dir,
    encoding: 'utf8',
  })
  // Without it, every tool and check below would fail for another reason.
  if (status !== 0) throw new Error(`git init: ${error?.message ?? stderr}`)
  return dir
}

const run = (dir: string, command: string, ...args: readonly string[]): Promise<Result> =>
  new Promise(resolve => {
    // tap loads modules into every Node process below it, and oxlint cannot start with them.
    const plain = ['-c', 'unset NODE_OPTIONS; exec "$0" "$@"', command, ...args]
    const options = { cwd: dir, maxBuffer: 16 * 1024 * 1024 }
    execFile('sh', plain, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr }),
    )
  })

const binary = (name: string): string => join(repositoryRoot, 'node_modules', '.bin', name)

t.test('npm run lint runs every tool that is tested here', async t => {
  for (const command of [
    'oxlint',
    'prettier --check',
    'depcruise',
    'knip',
    'node scripts/check-files.mjs',
    'node scripts/check-subjects.mjs',
    'node scripts/check-types.mjs',
    'cargo clippy',
  ])
    t.ok(
      SCRIPT.split(' && ').some(part => part.startsWith(command)),
      command,
    )
})

t.test('oxlint refuses what leaves the type checker or is unfinished', async t => {
  const cases: readonly (readonly [rule: string, file: string, text: string])[] = [
    ['no-explicit-any', 'src/rpc/any.ts', 'export const a: any = 1\n'],
    ['no-explicit-any', 'src/rpc/as-any.ts', 'export const a = 1 as any\n'],
    ['no-non-null-assertion', 'src/rpc/b.ts', 'export const b = (c?: { d: 1 }) => c!.d\n'],
    ['ban-ts-comment', 'src/rpc/c.ts', '// @ts-expect-error For a reason\nexport const c = 1\n'],
    ['no-warning-comments', 'src/rpc/d.ts', '// TODO\nexport const d = 1\n'],
    ['no-process-env', 'src/rpc/e.ts', "export const e = process.env['E']\n"],
    [
      'max-lines-per-function',
      'src/rpc/g.ts',
      `export const g = () => {\n${'  g()\n'.repeat(80)}}\n`,
    ],
    ['no-unused-vars', 'src/rpc/f.ts', 'const f = 1\nexport {}\n'],
  ]
  const sound = { 'src/main.ts': "export const g = process.env['G'] // any!\n" }
  const dir = openCheckout(t, {
    ...sound,
    ...Object.fromEntries(cases.map(([, file, text]) => [file, text])),
  })
  const { code, output } = await run(dir, binary('oxlint'), '--format=unix')
  t.not(code, 0)
  for (const [rule, file] of cases)
    t.ok(
      output.split('\n').some(line => line.startsWith(file) && line.includes(rule)),
      `${rule} in ${file}`,
    )
  t.notMatch(output, 'src/main.ts')
})

t.test('prettier refuses a line that it would break', async t => {
  const text = `export const list = [${'1, '.repeat(40)}1]\n`
  const dir = openCheckout(t, { 'src/a.ts': text, 'src/b.ts': 'export const b = 1\n' })
  const { code, output } = await run(dir, binary('prettier'), '--check', 'src')
  t.not(code, 0)
  t.match(output, 'src/a.ts')
  t.notMatch(output, 'src/b.ts')
})

t.test('dependency-cruiser enforces import directions and owners of packages', async t => {
  const cases: readonly (readonly [rule: string | undefined, file: string, text: string])[] = [
    [undefined, 'src/shared/b.ts', 'export const b = 1\nexport type B = 1\n'],
    [undefined, 'src/access/b.ts', 'export const b = 1\n'],
    [undefined, 'src/storage/lmdb.ts', "export { open } from 'lmdb'\n"],
    [undefined, 'src/rpc/ok.ts', "import { b } from '../shared/b.js'\nexport const a = b\n"],
    [undefined, 'src/rpc/node.ts', "import { join } from 'node:path'\nexport const a = join\n"],
    [undefined, 'src/processes/a.ts', "export * from '../rpc/ok.js'\n"],
    [undefined, 'src/cli/sandbox/run-sandbox.ts', "export * from '../../sandbox/a.js'\n"],
    [undefined, 'src/sandbox/a.ts', "export * from '../processes/a.js'\n"],
    [undefined, 'src/native/b.ts', "export * from '#native'\n"],
    ['folder-shared', 'src/shared/up.ts', "export * from '../rpc/ok.js'\n"],
    ['folder-rpc', 'src/rpc/value.ts', "export * from '../access/b.js'\n"],
    ['folder-rpc', 'src/rpc/type.ts', "export type { b } from '../access/b.js'\n"],
    ['folder-rpc', 'src/rpc/lazy.ts', "export const a = import('../access/b.js')\n"],
    ['folder-sandbox', 'src/sandbox/feed.ts', "export * from '../ingest/a.js'\n"],
    [undefined, 'src/ingest/a.ts', 'export const a = 1\n'],
    ['no-import-of-main', 'src/processes/main-user.ts', "export * from '../main.js'\n"],
    [undefined, 'src/main.ts', 'export const a = 1\n'],
    ['known-folder', 'src/elsewhere/a.ts', "export * from '../shared/b.js'\n"],
    ['no-import-of-sandbox', 'src/processes/edge.ts', "export * from '../sandbox/a.js'\n"],
    ['no-import-from-outside', 'src/server/a.ts', "export * from '../../test/a.js'\n"],
    [undefined, 'test/a.ts', 'export const a = 1\n'],
    ['package-without-owner', 'src/server/uws.ts', "export { App } from 'uWebSockets.js'\n"],
    ['owner-of-lmdb', 'src/rpc/lmdb.ts', "export type { Database } from 'lmdb'\n"],
    ['owner-of-#native', 'src/rpc/native.ts', "export * from '#native'\n"],
    ['owner-of-node:https', 'src/rpc/https.ts', "export { request } from 'node:https'\n"],
    ['package-without-owner', 'src/rpc/package.ts', "export { h } from 'tap'\n"],
    ['not-resolvable', 'src/rpc/nowhere.ts', "export * from './not-there.js'\n"],
    ['no-circular', 'src/pubsub/a.ts', "import './b.js'\n"],
    [undefined, 'src/pubsub/b.ts', "import './a.js'\n"],
  ]
  const dir = openCheckout(t, {
    'native/addon/index.js': 'module.exports = {}\n',
    ...Object.fromEntries(cases.map(([, file, text]) => [file, text])),
  })
  const args = ['--output-type', 'json', 'src', 'test']
  const { output } = await run(dir, binary('depcruise'), ...args)
  const { summary } = JSON.parse(output.slice(output.indexOf('{'))) as {
    readonly summary: {
      readonly violations: readonly { readonly from: string; readonly rule: { name: string } }[]
    }
  }
  const found = summary.violations.map(({ from, rule }) => `${rule.name} ${from}`)
  const expected = cases.flatMap(([rule, file]) => (rule === undefined ? [] : [`${rule} ${file}`]))
  t.strictSame(found.toSorted(), expected.toSorted())
})

t.test('knip refuses exports and files that nothing imports', async t => {
  const dir = openCheckout(t, {
    'src/main.ts': "import { used } from './rpc/a.js'\nconsole.log(used)\n",
    'src/rpc/a.ts': 'export const used = 1\nexport const unused = 2\nexport type Unused = 1\n',
    'src/rpc/alone.ts': 'export const alone = 1\n',
  })
  const args = ['--reporter', 'json', '--include', 'files,exports,types,dependencies']
  const { code, output } = await run(dir, binary('knip'), ...args)
  t.not(code, 0)
  t.match(output, '"name":"unused"')
  t.match(output, '"name":"Unused"')
  t.match(output, 'src/rpc/alone.ts')
  t.match(output, '"name":"undici"', 'a dependency that nothing imports')
  t.notMatch(output, '"name":"used"')
})

t.test('check-files refuses long files and misplaced tests', async t => {
  const long = `// ${'word '.repeat(20)}\n`
  const filesOf = (folder: string, type: string, text: string) =>
    Array.from({ length: 20 }, (_, at) => [`${folder}/m${at}.${type}`, text])
  const dir = openCheckout(t, {
    'src/rpc/a.ts': 'export const a = 1\n',
    'src/rpc/b.ts': `${long}export const b = 1\n`,
    'src/rpc/text.ts': `export const text =\n  '${'word '.repeat(30)}'\n`,
    'src/rpc/after.ts': `export const a = [ ${long}]\n`,
    'src/rpc/lines.ts': '// line\n'.repeat(401),
    'src/access/a.ts': 'export const a = 1\n',
    'native/src/lib.rs': `/${long}`,
    ...Object.fromEntries(filesOf('native/store/src', 'rs', 'fn a() {}\n')),
    'native/store/src/lib.rs': '',
    ...Object.fromEntries(filesOf('src/storage', 'ts', 'export const a = 1\n')),
    'src/storage/tab.tsx': 'export const a = 1\n',
    ...Object.fromEntries(filesOf('test/fixtures', 'ts', 'export const a = 1\n')),
    ...Object.fromEntries(filesOf('bench', 'ts', 'export const a = 1\n')),
    'bench/more.mjs': '',
    ...Object.fromEntries(filesOf('scripts', 'mjs', '\n')),
    ...Object.fromEntries(filesOf('test/vectors', 'json', '{}\n')),
    'test/vectors/more.json': '{}\n',
    'test/rpc/a.ts': '// It mirrors src/rpc/a.ts.\n',
    'test/rpc/part.ts': "import '../fixtures/a.js'\n",
    'test/fixtures/a.ts': "import '../../src/rpc/a.js'\n",
    'test/rpc/elsewhere.ts': "import '../../src/access/a.js'\n",
    'test/service/a.ts': '// It starts the whole service.\n',
    'test/service/lines.ts': '// line\n'.repeat(401),
  })
  const script = join(repositoryRoot, 'scripts', 'check-files.mjs')
  const { code, output } = await run(dir, process.execPath, script, dir)
  t.not(code, 0)
  const faults = output.trim().split('\n')
  t.strictSame(faults.toSorted(), [
    'bench/: 21 source files, at most 20',
    'native/src/lib.rs:1: 104 columns, at most 100',
    'native/store/src/: 21 source files, at most 20',
    'src/access/: no test in test/access/',
    'src/rpc/after.ts:1: 122 columns, at most 100',
    'src/rpc/b.ts:1: 103 columns, at most 100',
    'src/rpc/lines.ts: 401 lines, at most 400',
    'src/storage/: 21 source files, at most 20',
    'src/storage/: no test in test/storage/',
    'test/fixtures/: 21 source files, at most 20',
    'test/rpc/elsewhere.ts: tests nothing of src/rpc/',
    'test/service/lines.ts: 401 lines, at most 400',
  ])
})

t.test(
  'check-files refuses patterns on bytes of others that may take more than linear time',
  async t => {
    const refused = [
      ...[
        '/(a|b)*c/',
        '/^(?:a+)+$/',
        '/a*b/',
        '/\\s+$/',
        '/^a*a*$/',
        '/^[ab]*a[ab]*$/',
        '/(a)\\1+/',
      ],
      ...[
        '/^a*(?=b)/',
        '/^.*,.*$/',
        '/^a{0,999}a{0,999}b/',
        '/^a*b/m',
        '/^a*a*b/',
        "new RegExp('a')",
      ],
    ]
    const accepted = [
      ...[
        '/[abc]/',
        '/a{1,20}b{2}/g',
        '/^a*b*$/',
        '/^ *a+ *(?:,|$)/',
        '/\\{(\\w+)\\}/g',
        '/x[ab]*/',
      ],
      ...['/^(?:a|b):[^:]*$/i', '/ *: *([^ :]*)/y', '/^[\\d.]+-[\\d.]+$/', '/^.*a/'],
    ]
    const linesOf = (patterns: readonly string[]): string =>
      patterns.map((pattern, nth) => `export const p${nth} = ${pattern}\n`).join('')
    const dir = openCheckout(t, {
      'src/rpc/refused.ts': linesOf(refused),
      'src/rpc/accepted.ts': linesOf(accepted),
      'src/rpc/reason.ts': '// linear: of a fixed length\nexport const p = /(?:ab){1,999}c/\n',
      'src/cli/own.ts': linesOf(refused),
      'test/rpc/accepted.ts': '',
      'test/cli/own.ts': '',
    })
    const script = join(repositoryRoot, 'scripts', 'check-files.mjs')
    const { output } = await run(dir, process.execPath, script, dir)
    const found = output.split('\n').filter(line => line.includes('not shown to be linear'))
    t.strictSame(
      found,
      refused.map((text, nth) => `src/rpc/refused.ts:${nth + 1}: not shown to be linear: ${text}`),
    )
  },
)

t.test('check-files refuses import cycles between the modules of a Rust crate', async t => {
  const dir = openCheckout(t, {
    'native/cycle/src/lib.rs': 'mod a;\nmod b;\nmod c;\n',
    'native/cycle/src/a.rs': 'use crate::{\n    b::B,\n    c,\n};\n',
    'native/cycle/src/b.rs': 'pub fn b() {\n    super::a::f();\n}\n',
    'native/cycle/src/c.rs': '// use crate::a;\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n',
    'native/parent/src/lib.rs': 'pub mod inner;\n',
    'native/parent/src/inner/mod.rs': 'mod part;\nuse part::P;\npub struct I;\n',
    'native/parent/src/inner/part.rs': 'use super::I;\npub struct P;\n',
    'native/sound/src/lib.rs': 'mod a;\nmod b;\nmod tests;\npub use a::A;\n',
    'native/sound/src/a.rs': 'use super::b::{self, B};\npub struct A;\n',
    'native/sound/src/b.rs': 'pub struct B;\n',
    'native/sound/src/tests.rs': 'use crate::A;\n',
  })
  const script = join(repositoryRoot, 'scripts', 'check-files.mjs')
  const { code, output } = await run(dir, process.execPath, script, dir)
  t.not(code, 0)
  t.strictSame(output.trim().split('\n').toSorted(), [
    'native/cycle/src/a.rs: import cycle a.rs → b.rs → a.rs',
    'native/parent/src/inner/mod.rs: import cycle inner/mod.rs → inner/part.rs → inner/mod.rs',
  ])
})

t.test('check-files compares the table of docs/architecture.md with the import rules', async t => {
  const page = readFileSync(join(repositoryRoot, 'docs', 'architecture.md'), 'utf8')
  const changed = page
    .replace(/^(\| `src\/rpc\/` \|[^|]*\|) native \|$/m, '$1 native, storage |')
    .replace(/^\| `src\/pubsub\/`.*\n/m, '')
    .replace(/^\| `src\/shared\/`.*\n/m, '$&| `src/elsewhere/` | nothing | |\n')
  const dir = openCheckout(t, { 'docs/architecture.md': changed })
  const script = join(repositoryRoot, 'scripts', 'check-files.mjs')
  const { code, output } = await run(dir, process.execPath, script, dir)
  t.not(code, 0)
  t.strictSame(output.trim().split('\n').toSorted(), [
    'docs/architecture.md: no row for src/pubsub/',
    'docs/architecture.md: src/elsewhere/ has no row in .dependency-cruiser.mjs',
    'docs/architecture.md: src/rpc/ may import: native',
  ])
})

t.test('check-files refuses unusual wordings', async t => {
  const dir = openCheckout(t, {
    'docs/a.md': 'Spoken are TLS 1.2 and 1.3.\nA machine says its slots, where there are some.\n',
    'src/main.ts': '// Times are those of UTC, where there are some.\nexport {}\n',
  })
  const script = join(repositoryRoot, 'scripts', 'check-files.mjs')
  const { code, output } = await run(dir, process.execPath, script, dir)
  t.not(code, 0)
  t.strictSame(output.trim().split('\n').toSorted(), [
    'docs/a.md:1: "Spoken are": write "supports"',
    'docs/a.md:2: "machine says its": write "reports"',
    'docs/a.md:2: "where there are": write "if"',
    'src/main.ts:1: "Times are those of": write "Times are in …"',
  ])
})

t.test('clippy refuses long functions and unsafe code without a reason', async t => {
  const clippy = await run(repositoryRoot, 'cargo', 'clippy', '--version')
  if (clippy.code !== 0)
    return skipAbsent(t, `cargo clippy does not run: ${clippy.output.trim().split('\n')[0]}`)
  const lines = (count: number) => `pub fn lines() {\n${'    drop(1);\n'.repeat(count)}}\n`
  const pointer = 'pub unsafe fn read(at: *const u8) -> u8'
  const cases: readonly (readonly [rule: string | undefined, module: string, text: string])[] = [
    [undefined, 'sound', `// Comments are not counted.\n${lines(60)}`],
    ['clippy::too_many_lines', 'long', lines(61)],
    ['clippy::undocumented_unsafe_blocks', 'bare', `${pointer} {\n    unsafe { *at }\n}\n`],
    [
      'clippy::multiple_unsafe_ops_per_block',
      'double',
      `${pointer} {\n    // SAFETY: none.\n    unsafe { *at + *at.add(1) }\n}\n`,
    ],
  ]
  const native = parse(readFileSync(join(repositoryRoot, 'native', 'Cargo.toml'), 'utf8'))
  const { lints } = native['workspace'] as { readonly lints: object }
  const dir = openCheckout(t, {
    'native/Cargo.toml': stringify({
      package: { name: 'planted', version: '0.0.0', edition: '2024' },
      workspace: { lints },
      lints: { workspace: true },
    }),
    'native/src/lib.rs': cases.map(([, module]) => `mod ${module};\n`).join(''),
    ...Object.fromEntries(cases.map(([, module, text]) => [`native/src/${module}.rs`, text])),
  })
  cpSync(join(repositoryRoot, 'native', 'clippy.toml'), join(dir, 'native', 'clippy.toml'))
  const manifest = ['--manifest-path', join(dir, 'native', 'Cargo.toml')]
  const args = ['clippy', '--offline', '--message-format=json', ...manifest]
  const { code, output } = await run(dir, 'cargo', ...args)
  t.not(code, 0)
  type Line = {
    readonly reason?: string
    readonly message?: {
      readonly code: { readonly code: string } | null
      readonly level: string
      readonly spans: readonly { readonly file_name: string }[]
    }
  }
  const found = output
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Line)
    .flatMap(({ message }) =>
      message?.level === 'error' && message.code !== null
        ? [`${message.code.code} ${message.spans[0]?.file_name}`]
        : [],
    )
  const expected = cases.flatMap(([rule, module]) =>
    rule === undefined ? [] : [`${rule} src/${module}.rs`],
  )
  t.strictSame(found.toSorted(), expected.toSorted())
})

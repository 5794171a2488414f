import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { escapeFaults, importFaults } from './fixtures/docs/tidy-rules.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
  .filter(name => /\.tsx?$/.test(name))
  .map(name => `src/${name}`)
  .sort()
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8')

t.test('imports point down, and every package has its owner', t => {
  t.strictSame(
    files.flatMap(file => importFaults(file, read(file))),
    [],
  )
  t.end()
})

t.test('nothing leaves the type checker, nothing is left undone', t => {
  t.strictSame(
    files.flatMap(file => escapeFaults(file, read(file))),
    [],
  )
  t.end()
})

t.test('the rules catch what they are for', t => {
  const imports: [file: string, source: string, fault: RegExp | undefined][] = [
    ['src/shared/a.ts', "import { b } from './b.js'", undefined],
    ['src/rpc/a.ts', "import { b } from '../shared/b.js'", undefined],
    ['src/rpc/methods/a.ts', "import { b } from '../params.js'", undefined],
    ['src/processes/a.ts', "import { b } from '../rpc/b.js'", undefined],
    ['src/dashboard/a.ts', "import { b } from '../access/b.js'", undefined],
    ['src/main.ts', "import { b } from './processes/b.js'", undefined],
    ['src/access/a.ts', "import { open } from 'lmdb'", undefined],
    ['src/shared/a.ts', "import { b } from '../rpc/b.js'", /shared may not import rpc/],
    ['src/rpc/a.ts', "import { b } from '../access/b.js'", /rpc may not import access/],
    ['src/rpc/a.ts', "import type { b } from '../access/b.js'", /rpc may not import access/],
    ['src/rpc/a.ts', "export * from '../access/b.js'", /rpc may not import access/],
    ['src/rpc/a.ts', "const b = await import('../access/b.js')", /rpc may not import access/],
    ['src/rpc/a.ts', "type B = import('../access/b.js').B", /rpc may not import access/],
    ['src/rpc/a.ts', "import { b } from '../main.js'", /a file at the top/],
    ['src/sandbox/a.ts', "import { b } from '../ingest/b.js'", /sandbox may not import ingest/],
    ['src/server/a.ts', "import { b } from '../../test/b.js'", /leaves src/],
    ['src/server/a.ts', "import { b } from './b'", /does not end with .js/],
    ['src/elsewhere/a.ts', "import { b } from '../shared/b.js'", /elsewhere has no rule/],
    ['src/rpc/a.ts', "import { App } from 'uWebSockets.js'", /belongs to src\/server/],
    ['src/rpc/a.ts', "import * as native from '#native'", /belongs to src\/native/],
    ['src/rpc/a.ts', "import type { Database } from 'lmdb'", /belongs to src\/access/],
    ['src/rpc/a.ts', "import { x } from 'left-pad'", /has no owner/],
    ['src/rpc/a.ts', "import { request } from 'node:https'", /belongs to nobody/],
    ['src/rpc/a.ts', "import { join } from 'node:path'", undefined],
  ]
  for (const [file, source, fault] of imports) {
    const [found, ...more] = importFaults(file, source)
    t.strictSame(more, [], source)
    if (fault === undefined) t.equal(found, undefined, `${file}: ${source}`)
    else t.match(found ?? '', fault, `${file}: ${source}`)
  }
  const escapes: [file: string, source: string, count: number][] = [
    ['src/a.ts', 'const any = 1 // any!', 0],
    ['src/a.ts', 'const a: any = 1', 1],
    ['src/a.ts', 'const a = b as any', 1],
    ['src/a.ts', 'a!.b', 1],
    ['src/a.ts', 'if (!a) b()', 0],
    ['src/a.ts', '// @ts-expect-error', 1],
    ['src/a.ts', '// TODO', 1],
    ['src/a.ts', "process.env['A']", 1],
    ['src/main.ts', 'process.env.A', 0],
  ]
  for (const [file, source, count] of escapes)
    t.equal(escapeFaults(file, source).length, count, `${file}: ${source}`)
  t.end()
})

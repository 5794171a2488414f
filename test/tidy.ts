import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { escapeFaults, importFaults, isTypesOnly } from './fixtures/tidy-rules.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
  .filter(name => /\.tsx?$/.test(name))
  .map(name => `src/${name}`)
  .sort()
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8')

/** Files with code that need no test of their own, and why. Files of types only never do. */
const UNMIRRORED: readonly [file: RegExp, reason: string][] = [
  [/^src\/shared\/http\.ts$/, 'types, and the test of a tag that every server test needs'],
  [/^src\/shared\/encodings\.ts$/, 'test/native.ts sees each encoding'],
  [
    /^src\/shared\/(indexer|native-encoding|operating-system|reader|transaction-checks)\.ts$/,
    'calls of the addon: test/native*.ts, test/pages.ts and each golden vector see their answers',
  ],
  [
    /^src\/shared\/socket\.ts$/,
    'types, close codes and names: test/websocket/ sees them over sockets',
  ],
  [
    /^src\/(.*\/)?((rpc|archive|metrics|pool|store|upstream|ledger|relay|lander|product|forward|repair|bootstrap)-)?options\.ts$/,
    'defaults: test/config.ts tries each',
  ],
  [
    /^src\/submission\/(bundle|engine-answer)\.ts$/,
    'test/submission/send-bundle.ts, engine.ts and relay.ts see each rule over sockets',
  ],
  [
    /^src\/pubsub\/(methods|params)\.ts$/,
    'names and checks: test/pubsub/subscription.ts tries each text',
  ],
  [/^src\/submission\/submission\.ts$/, 'a declaration: test/submission/ledger.ts writes by it'],
  [
    /^src\/server\/(bytes-source|content-type|cors|failures|piece-pool|pump|responder)\.ts$/,
    'parts of one exchange: test/server/exchange.ts, mount.ts and reply-stream.ts see them over sockets',
  ],
  [
    /^src\/server\/(handshake|mount-sockets|socket-keeper)\.ts$/,
    'parts of one WebSocket: test/server/server-socket.ts sees them from outside',
  ],
  [
    /^src\/ingest\/(rpc-(client|failure|part)|untrusted)\.ts$/,
    'steps of a read of accounts: test/ingest/rpc-scope.ts and authorities.ts see them over sockets',
  ],
  [
    /^src\/config-(accounts-rpc|bootstrap|dashboard|network|submission|values)\.ts$/,
    'test/config-schema.ts tries each rule',
  ],
  [
    /^src\/shared\/system-authorities\.ts$/,
    'test/ingest/authorities.ts makes the system trust one',
  ],
  [
    /^src\/shared\/(corrections|rpc-answer)\.ts$/,
    'test/ingest/rpc-sweep.ts and rpc-scope.ts work with them on real stores',
  ],
  [/^src\/shared\/store-copy\.ts$/, 'test/store-commands.ts backs up, repair-steps.ts catches up'],
  [
    /^src\/ingest\/(bootstrap|load-snapshot|load-incremental)\.ts$/,
    'test/processes/bootstrap.ts and repair-steps.ts run each step over real archives and a real feed',
  ],
  [/^src\/access\/tables\.ts$/, 'declarations: test/access/store.ts reads and writes by them'],
  [
    /^src\/access\/(sealing|private-file)\.ts$/,
    'test/access/credential.ts spoils its key in every way',
  ],
  [/^src\/access\/limit-table\.ts$/, 'test/access/limits.ts fills and empties it'],
  [/^src\/access\/usage-[a-z]+\.ts$/, 'test/access/usage.ts reads what it wrote'],
  [
    /^src\/submission\/(call|findings|lander-params)\.ts$/,
    'steps of the lander routes: test/submission/lander.ts sees them over sockets',
  ],
  [
    /^src\/submission\/upstream-[a-z]+\.ts$/,
    'parts of one upstream: test/submission/upstream.ts sees them over sockets',
  ],
  [
    /^src\/sandbox\/(geyser-.*|grpc-server|protobuf)\.ts$/,
    'test/sandbox/geyser.ts drives them over the wire',
  ],
  [/^src\/dashboard\/pages\//, 'test/browser/ sees the page as people do, in Chromium'],
  [
    /^src\/dashboard\/(?!(api|openapi|server|session|sign-in)\.ts)[a-z-]+\.ts$/,
    'parts of one server: the tests of server, session, sign-in and api see them over sockets',
  ],
  [
    /^src\/processes\//,
    'composition roots: test/processes/ runs them as whole deployments, with real processes',
  ],
  [
    /^src\/sandbox\/((?!bundle-engine|chain|dev-upstream|dumps|geyser|lander|traffic|world)[a-z0-9-]+)\.ts$/,
    'steps of the dev chain and its upstreams: tests of chain, lander and bundle-engine see what they lead to',
  ],
]

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

t.test('every source file has its test', t => {
  const missing = files.filter(
    file =>
      !existsSync(`${root}${file.replace(/^src/, 'test')}`) &&
      !isTypesOnly(read(file)) &&
      !UNMIRRORED.some(([pattern]) => pattern.test(file)),
  )
  t.strictSame(missing, [])
  for (const [pattern, reason] of UNMIRRORED)
    t.ok(
      files.some(file => pattern.test(file)),
      `still needed: ${reason}`,
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
    ['src/rpc/a.ts', "import { b } from '../config.js'", /a file at the top/],
    ['src/sandbox/a.ts', "import { b } from '../ingest/b.js'", /sandbox may not import ingest/],
    ['src/server/a.ts', "import { b } from '../../test/b.js'", /leaves src/],
    ['src/server/a.ts', "import { b } from './b'", /does not end with .js/],
    ['src/elsewhere/a.ts', "import { b } from '../shared/b.js'", /elsewhere has no rule/],
    ['src/rpc/a.ts', "import { App } from 'uWebSockets.js'", /belongs to src\/server/],
    ['src/rpc/a.ts', "import * as native from '#native'", /belongs to src\/shared\/caretaker/],
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

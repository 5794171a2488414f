// Which folder of src/ may import which, and which folder owns which package. Checked by
// `npm run lint`.

/**
 * The rooms of src/ from the bottom up, each with the rooms that it may import besides itself.
 * Nothing imports a room above it.
 */
const ROOMS = {
  shared: [],
  native: ['shared'],
  server: ['shared'],
  upstream: ['shared'],
  storage: ['shared', 'native'],
  access: ['shared', 'native', 'storage'],
  rpc: ['shared', 'native'],
  pubsub: ['shared', 'native'],
  submission: ['shared', 'native', 'storage', 'upstream'],
  ingest: ['shared', 'native', 'storage'],
  dashboard: ['shared', 'access'],
  config: [
    'shared',
    'native',
    'server',
    'upstream',
    'access',
    'rpc',
    'pubsub',
    'submission',
    'storage',
    'ingest',
    'dashboard',
  ],
  edge: [
    'shared',
    'native',
    'server',
    'upstream',
    'access',
    'rpc',
    'pubsub',
    'submission',
    'storage',
    'config',
  ],
  control: ['shared', 'access', 'submission', 'dashboard', 'config'],
  supervision: ['shared', 'ingest', 'config', 'control'],
  // Composition and commands: they know every part, the sandbox apart (see below).
  processes: undefined,
  cli: undefined,
  sandbox: ['shared', 'config', 'control', 'processes'],
}

/**
 * The only file outside src/sandbox/ that imports it: its command. The supervisor starts it as a
 * guest, by the URL of its module.
 */
const SANDBOX_HOSTS = ['src/cli/run-sandbox.ts']

/** Who imports a package, so that it can be replaced in one place. Folders end with a slash. */
const OWNERS = {
  'uWebSockets.js': ['src/server/'],
  lmdb: ['src/storage/lmdb.ts'],
  msgpackr: ['src/access/', 'src/submission/store/'],
  undici: ['src/upstream/', 'src/ingest/'],
  litesvm: ['src/sandbox/'],
  '@grpc/grpc-js': ['src/sandbox/'],
  '@grpc/proto-loader': ['src/sandbox/'],
  bs58: ['src/sandbox/'],
  'oidc-provider': ['src/sandbox/'],
  'openid-client': ['src/dashboard/auth/'],
  'ipaddr.js': ['src/server/', 'src/access/'],
  pino: ['src/shared/log.ts'],
  'prom-client': ['src/shared/metrics.ts'],
  'smol-toml': ['src/config/'],
  commander: ['src/main.ts', 'src/cli/'],
  'cli-progress': ['src/cli/progress.ts'],
  hono: ['src/dashboard/http/'],
  '@hono/node-server': ['src/dashboard/http/'],
  preact: ['src/dashboard/pages/'],
  uplot: ['src/dashboard/pages/'],
  vite: ['src/dashboard/pages/vite.config.ts'],
  '@valibot/to-json-schema': ['src/dashboard/'],
  valibot: ['src/access/', 'src/config/', 'src/dashboard/', 'src/submission/store/'],
}

/** Modules of Node that only these places import: everything else reaches a server by undici. */
const NODE_OWNERS = { http2: ['src/sandbox/'], https: [] }

const escape = text => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
const inPlaces = places => places.map(place => `^${escape(place)}${place.endsWith('/') ? '' : '$'}`)
const inPackage = name => `(^|/)node_modules/${escape(name)}/`
const inRooms = rooms => `^src/(${rooms.join('|')})/`

const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to })

const roomRules = Object.entries(ROOMS)
  .filter(([, allowed]) => allowed !== undefined)
  .map(([room, allowed]) =>
    rule(
      `room-${room}`,
      `src/${room}/ may import ${allowed.join(', ') || 'no other room'}`,
      { path: `^src/${room}/` },
      { path: '^src/', pathNot: inRooms([room, ...allowed]) },
    ),
  )

const ownerRule = (name, owners, path) =>
  rule(
    `owner-of-${name}`,
    `${name} is imported by ${owners.join(', ') || 'nobody'}`,
    { path: '^src/', pathNot: inPlaces(owners) },
    { path },
  )

export default {
  forbidden: [
    rule('no-circular', 'no file imports itself by way of others', {}, { circular: true }),
    rule(
      'known-room',
      'a folder of src/ has a row in ROOMS',
      { path: '^src/[^/]+/', pathNot: inRooms(Object.keys(ROOMS)) },
      {},
    ),
    ...roomRules,
    rule('no-import-of-main', 'src/main.ts is imported by nobody', {}, { path: '^src/[^/]+$' }),
    rule(
      'sandbox-is-a-guest',
      `src/sandbox/ is imported by ${SANDBOX_HOSTS.join(' and ')} only`,
      { path: '^src/', pathNot: ['^src/sandbox/', ...inPlaces(SANDBOX_HOSTS)] },
      { path: '^src/sandbox/' },
    ),
    rule(
      'no-import-from-outside',
      'src/ imports nothing of the tests, the benchmark or the scripts',
      { path: '^src/' },
      { path: '^(test|bench|scripts)/' },
    ),
    ownerRule('#native', ['src/native/'], '^native/'),
    ...Object.entries(OWNERS).map(([name, owners]) => ownerRule(name, owners, inPackage(name))),
    ...Object.entries(NODE_OWNERS).map(([name, owners]) =>
      ownerRule(`node:${name}`, owners, `^(node:)?${name}$`),
    ),
    rule(
      'package-without-owner',
      'a package has a row in OWNERS',
      { path: '^src/' },
      { path: 'node_modules', pathNot: Object.keys(OWNERS).map(inPackage) },
    ),
    rule(
      'not-resolvable',
      'an import leads to a file',
      { path: '^src/' },
      { couldNotResolve: true },
    ),
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^native/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
}

// Which folder of src/ may import which, and which folder owns which package. Checked by
// `npm run lint`.

/**
 * The folders of src/ from the bottom up, each with the folders that it may import besides itself.
 * Nothing imports a folder above it. docs/architecture.md says the same, which
 * scripts/checks/import-rules.mjs compares.
 */
export const FOLDERS = {
  shared: [],
  native: ['shared'],
  server: ['native', 'shared'],
  upstream: ['shared', 'native'],
  storage: ['shared', 'native'],
  usage: ['shared', 'native'],
  access: ['shared', 'native', 'storage', 'usage'],
  rpc: ['shared', 'native'],
  pubsub: ['shared', 'native'],
  submission: ['shared', 'native', 'storage', 'upstream'],
  ingest: ['shared', 'native', 'storage'],
  cluster: ['shared', 'access', 'storage'],
  dashboard: ['shared', 'access', 'usage'],
  config: [
    'shared',
    'native',
    'server',
    'upstream',
    'usage',
    'access',
    'rpc',
    'pubsub',
    'submission',
    'storage',
    'ingest',
    'dashboard',
    'cluster',
  ],
  edge: [
    'shared',
    'native',
    'server',
    'upstream',
    'usage',
    'access',
    'rpc',
    'pubsub',
    'submission',
    'storage',
    'config',
  ],
  sender: ['shared', 'native', 'upstream', 'usage', 'submission', 'storage', 'config'],
  control: ['shared', 'usage', 'access', 'cluster', 'submission', 'dashboard', 'config'],
  supervision: [
    'shared',
    'native',
    'server',
    'storage',
    'access',
    'ingest',
    'submission',
    'config',
    'edge',
    'control',
  ],
  // Composition and commands may import every folder but the sandbox (see below).
  processes: undefined,
  cli: undefined,
  sandbox: ['shared', 'native', 'server', 'cluster', 'config', 'control', 'processes'],
}

/**
 * The only files outside src/sandbox/ that import it: its command, and the programs of its
 * processes.
 */
const SANDBOX_IMPORTERS = [
  'src/cli/sandbox/run-sandbox.ts',
  'src/cli/sandbox/run-machines.ts',
  'src/processes/programs/chain-provider.ts',
  'src/processes/programs/machine.ts',
]

/** The only importers of each package, so that it is easy to replace. Folders end with a slash. */
const OWNERS = {
  lmdb: ['src/storage/lmdb.ts'],
  msgpackr: ['src/access/', 'src/submission/link/', 'src/submission/store/'],
  undici: ['src/upstream/', 'src/ingest/', 'src/dashboard/webhooks/'],
  litesvm: ['src/sandbox/'],
  '@grpc/grpc-js': ['src/cluster/etcd/'],
  '@grpc/proto-loader': ['src/cluster/etcd/'],
  bs58: ['src/sandbox/'],
  'oidc-provider': ['src/sandbox/'],
  'openid-client': ['src/dashboard/auth/'],
  'ipaddr.js': ['src/server/', 'src/access/'],
  pino: ['src/shared/log.ts'],
  'prom-client': ['src/shared/metrics.ts'],
  'smol-toml': ['src/config/'],
  commander: ['src/cli/'],
  'cli-progress': ['src/cli/progress.ts'],
  hono: ['src/dashboard/http/'],
  '@hono/node-server': ['src/dashboard/http/'],
  preact: ['src/dashboard/pages/'],
  uplot: ['src/dashboard/pages/'],
  vite: ['src/dashboard/pages/vite.config.ts', 'src/dashboard/pages/lib/samples.ts'],
  '@valibot/to-json-schema': ['src/dashboard/'],
  valibot: [
    'src/access/',
    'src/cluster/',
    'src/config/',
    'src/dashboard/',
    'src/submission/store/',
    'src/usage/',
    'src/control/usage.ts',
  ],
}

/** Modules of Node that only these folders import: other code reaches servers through undici. */
const NODE_OWNERS = { http2: ['src/sandbox/', 'src/upstream/'], https: ['src/cluster/peers/'] }

const escape = text => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
const inPaths = paths => paths.map(path => `^${escape(path)}${path.endsWith('/') ? '' : '$'}`)
const inPackage = name => `(^|/)node_modules/${escape(name)}/`
const inFolders = folders => `^src/(${folders.join('|')})/`

const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to })

const folderRules = Object.entries(FOLDERS)
  .filter(([, allowed]) => allowed !== undefined)
  .map(([folder, allowed]) =>
    rule(
      `folder-${folder}`,
      `src/${folder}/ may import ${allowed.join(', ') || 'no other folder'}`,
      { path: `^src/${folder}/` },
      { path: '^src/', pathNot: inFolders([folder, ...allowed]) },
    ),
  )

const ownerRule = (name, owners, path) =>
  rule(
    `owner-of-${name}`,
    `${name} is imported by ${owners.join(', ') || 'no file'}`,
    { path: '^src/', pathNot: inPaths(owners) },
    { path },
  )

export default {
  forbidden: [
    rule('no-circular', 'no cycle of imports', {}, { circular: true }),
    rule(
      'known-folder',
      'a folder of src/ has a row in FOLDERS',
      { path: '^src/[^/]+/', pathNot: inFolders(Object.keys(FOLDERS)) },
      {},
    ),
    ...folderRules,
    rule('no-import-of-main', 'No file imports src/main.ts', {}, { path: '^src/[^/]+$' }),
    rule(
      'no-import-of-sandbox',
      `src/sandbox/ is imported by ${SANDBOX_IMPORTERS.join(' and ')} only`,
      { path: '^src/', pathNot: ['^src/sandbox/', ...inPaths(SANDBOX_IMPORTERS)] },
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

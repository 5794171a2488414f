// Builds dist/ from src/: each program is one file with everything that it imports, packages of
// npm too, because finding, reading and linking a thousand modules takes longer than most of what
// follows at a start. The command line alone has parts, which a command loads when it runs.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { NOT_BUNDLED } from './bundled-packages.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const dist = join(root, 'dist')
const KEPT = new Set(['bench', 'dashboard', 'packages', 'test'])
const programs = 'src/processes/programs'

/** esbuild leaves calls of `require` in bundled CommonJS packages; a module has no `require`. */
const REQUIRE = `import { createRequire as createOf } from 'node:module'
const require = createOf(import.meta.url)`

const undiciClient = {
  name: 'undici-client',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^undici$/ }, () => ({ path: join(root, 'scripts', 'undici-client.cjs') })),
}

const options = {
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: ['#native', ...NOT_BUNDLED],
  plugins: [undiciClient],
  banner: { js: REQUIRE },
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
}

mkdirSync(dist, { recursive: true })
for (const name of readdirSync(dist))
  if (!KEPT.has(name)) rmSync(join(dist, name), { recursive: true })
await build({
  ...options,
  entryPoints: ['src/main.ts'],
  splitting: true,
  chunkNames: 'command-line/[name]-[hash]',
})
await build({ ...options, entryPoints: [`${programs}/*.ts`], outbase: programs })

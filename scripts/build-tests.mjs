// Compiles the tests and what they import into dist/test/, file by file, and tap into one file
// beside them: each test is a process, and loading tap's 220 files took longer than most of them
// run. Types are checked by `npm run lint`.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const outdir = join(root, 'dist', 'test')
const packages = join(outdir, 'node_modules')

/** esbuild leaves calls of `require` in bundled CommonJS packages; a module has no `require`. */
const REQUIRE = `import { createRequire as createOf } from 'node:module'
const require = createOf(import.meta.url)`

const options = { absWorkingDir: root, format: 'esm', logLevel: 'warning' }

/**
 * The default export is the test of the file that runs: of several in one process each has another,
 * which `setDefault` makes the one that the next file imports.
 */
const TAP = `export * from '../@tapjs/bundled.js'
import root from '../@tapjs/bundled.js'
let t = root
export const setDefault = test => { t = test }
export { t as default }
`

/** Written into `@tapjs/`: tap omits frames of that folder from the stack traces that it prints. */
const buildTap = async () => {
  await build({
    ...options,
    stdin: { contents: `export * from 'tap'\nexport { default } from 'tap'`, resolveDir: root },
    outfile: join(packages, '@tapjs', 'bundled.js'),
    bundle: true,
    platform: 'node',
    banner: { js: REQUIRE },
  })
  mkdirSync(join(packages, 'tap'))
  const manifest = { name: 'tap', type: 'module', exports: './index.js' }
  writeFileSync(join(packages, 'tap', 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(packages, 'tap', 'index.js'), TAP)
}

rmSync(outdir, { recursive: true, force: true })
await build({
  ...options,
  entryPoints: ['test/**/*.ts', 'src/**/*.ts', 'bench/**/*.ts'],
  outbase: root,
  outdir,
  sourcemap: true,
  sourcesContent: false,
})
await buildTap()

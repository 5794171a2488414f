// Compiles the tests and what they import into dist/test/, file by file. Types are checked by
// `npm run lint`.
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const outdir = join(root, 'dist', 'test')

rmSync(outdir, { recursive: true, force: true })
await build({
  absWorkingDir: root,
  entryPoints: ['test/**/*.ts', 'src/**/*.ts', 'bench/**/*.ts'],
  outbase: root,
  outdir,
  format: 'esm',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
})

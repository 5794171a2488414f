import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'
import { repositoryPath } from '../../fixtures/repository.js'

const PROGRAMS = readdirSync(repositoryPath('src/processes/programs/')).map(file =>
  basename(file, '.ts'),
)

for (const name of PROGRAMS) {
  const program = repositoryPath(`dist/${name}.js`)
  const { status, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' })
  const expected = name === 'machine' ? 0 : 1
  t.strictSame([status, stderr], [expected, ''], `${name} ends without a parent`)
  const imports = readFileSync(program, 'utf8').matchAll(/^import [^\n]* from "([^"]+)";$/gm)
  const loaded = Array.from(imports, ([, specifier = '']) => specifier)
  t.ok(loaded.includes('#native'), `${name}: its imports are found`)
  t.strictSame(
    loaded.filter(specifier => specifier.startsWith('.')),
    [],
    `${name} is one file`,
  )
}

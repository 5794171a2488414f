// Checks of files that the linters here do not have: how long comments, files and folders are; that
// test folders mirror those of the sources; that the modules of a Rust crate import each other
// without a cycle; that regular expressions on bytes of others take linear time; that
// docs/architecture.md states the import rules; and that a few unusual wordings are not used. Part
// of `npm run lint`. The only argument is the root of another checkout.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, extname, join, normalize } from 'node:path/posix'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { importRuleFaults } from './checks/import-rules.mjs'
import { patternFaults } from './checks/linear-patterns.mjs'
import { rustCycles } from './checks/rust-modules.mjs'
import { wordFaults } from './checks/words.mjs'

const LINE_COLUMNS_MAX = 100
const FILE_LINES_MAX = 400
const FOLDER_FILES_MAX = 20
const SOURCE_TYPES = new Set(['.ts', '.tsx', '.mjs', '.js', '.css', '.rs', '.py'])
/** Written by `napi build`. */
const GENERATED = new Set(['native/addon/index.js', 'native/addon/index.d.ts'])

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url))

const listFiles = () => {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard']
  const { error, stdout, stderr, status } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ls-files in ${root}: ${error?.message ?? stderr}`)
  return stdout.split('\n').filter(file => !GENERATED.has(file))
}

const isSource = file => SOURCE_TYPES.has(extname(file))
const isText = file => isSource(file) || /\.(?:md|h|cpp|yaml|service)$/.test(file)

/** A comment on a line of its own, or after code. Prettier and rustfmt break code, not comments. */
const COMMENT = /^\s*(?:\/\/|\/\*|\*(?:\s|$))|[;,{([]\s+\/\/ /

const commentFaults = (file, lines) =>
  lines.flatMap((line, index) => {
    const columns = Array.from(line).length
    if (columns <= LINE_COLUMNS_MAX || !COMMENT.test(line)) return []
    return [`${file}:${index + 1}: ${columns} columns, at most ${LINE_COLUMNS_MAX}`]
  })

const fileFaults = file => {
  const lines = readFileSync(join(root, file), 'utf8').replace(/\n$/, '').split('\n')
  const faults = commentFaults(file, lines)
  if (lines.length > FILE_LINES_MAX)
    faults.push(`${file}: ${lines.length} lines, at most ${FILE_LINES_MAX}`)
  return faults
}

const folderFaults = files => {
  const counts = new Map()
  for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  return Array.from(counts)
    .filter(([, count]) => count > FOLDER_FILES_MAX)
    .map(([folder, count]) => `${folder}/: ${count} source files, at most ${FOLDER_FILES_MAX}`)
}

const isFolder = path => existsSync(join(root, path)) && statSync(join(root, path)).isDirectory()
const isTest = file => /^test\/(?!fixtures\/).*\.ts$/.test(file)
const withoutType = file => file.replace(/\.(tsx?|js)$/, '')

/** The nearest folder of src/ at or above the mirror of a test's folder. */
const mirroredFolder = test => {
  let folder = dirname(test).replace(/^test/, 'src')
  while (!isFolder(folder)) folder = dirname(folder)
  return folder
}

const importsOf = (file, known) => {
  const text = readFileSync(join(root, file), 'utf8')
  const specifiers = text.matchAll(/(?:from|import\(?|new URL\()\s*'(\.[^']+)'/g)
  // The helpers of test/fixtures/repository.ts.
  const fromRoot = text.matchAll(/\b(?:repositoryPath|repositoryUrl|moduleUrl)\('([^']+)'/g)
  const paths = [
    ...Array.from(specifiers, ([, specifier]) => normalize(join(dirname(file), specifier))),
    ...Array.from(fromRoot, ([, path]) => normalize(path)),
  ].map(path => path.replace(/^dist\//, 'src/'))
  return paths.map(path => known.get(withoutType(path)) ?? path)
}

/**
 * True where a test, or a fixture that it uses, imports something of a folder or what is built of
 * it. A subfolder may be reached through the folder that it is in.
 */
const reaches = (test, folder, known) => {
  const above = `${folder.split('/').slice(0, 2).join('/')}/`
  const seen = new Set([test])
  for (const file of seen)
    for (const found of importsOf(file, known)) {
      if (found.startsWith(`${folder}/`)) return true
      if (
        /^test\/.*\.ts$/.test(found) ||
        (found.startsWith(above) && known.has(withoutType(found)))
      )
        seen.add(found)
    }
  return false
}

/** A folder of test/ with the name of one of src/ tests that folder; any other tests the whole. */
const misplacedTests = files => {
  const known = new Map(files.map(file => [withoutType(file), file]))
  return files.filter(isTest).flatMap(test => {
    const [, folder = '', ...rest] = test.split('/')
    if (rest.length === 0 || !isFolder(`src/${folder}`)) return []
    const source = withoutType(test).replace(/^test/, 'src')
    if (known.has(source) || reaches(test, mirroredFolder(test), known)) return []
    return [`${test}: tests nothing of ${mirroredFolder(test)}/`]
  })
}

/** Folders of src/, and their subfolders, whose sources have no test that mirrors them. */
const foldersWithoutTests = files => {
  const folders = files
    .filter(file => /^src\/.+\/.*\.tsx?$/.test(file))
    .map(file => dirname(file).split('/').slice(0, 3).join('/'))
  return Array.from(new Set(folders))
    .filter(folder => {
      const mirror = folder.replace(/^src/, 'test')
      return !files.some(file => isTest(file) && file.startsWith(`${mirror}/`))
    })
    .map(folder => `${folder}/: no test in ${folder.replace(/^src/, 'test')}/`)
}

const listed = listFiles().filter(file => existsSync(join(root, file)))
const files = listed.filter(isSource)
const faults = [
  ...files.flatMap(fileFaults),
  ...folderFaults(files),
  ...misplacedTests(files),
  ...foldersWithoutTests(files),
  ...files.flatMap(file => patternFaults(file, readFileSync(join(root, file), 'utf8'))),
  ...importRuleFaults(root),
  ...listed
    .filter(isText)
    .flatMap(file => wordFaults(file, readFileSync(join(root, file), 'utf8'))),
  ...rustCycles(files, file => readFileSync(join(root, file), 'utf8')),
]
for (const fault of faults) process.stderr.write(`${fault}\n`)
process.exitCode = faults.length === 0 ? 0 : 1

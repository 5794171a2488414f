// Makes the archive and the Debian package of this checkout, which must be built:
//   node scripts/package.mjs [--version 1.2.3] [--to folder] [--sign-key file] [--fast]
// `--sign-key` signs the checksums with a key of ssh-keygen, which may be in an agent or a token.
// `--fast` compresses little, for tests.
// They contain what the service runs with and nothing else, Node.js among it.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { installNode, RELEASES } from './node-release.mjs'
import { NOT_BUNDLED } from './bundled-packages.mjs'
import { linkedFiles } from './page-links.mjs'
import { createSbom } from './sbom.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { values } = parseArgs({
  options: {
    version: { type: 'string', default: manifest.version },
    to: { type: 'string', default: join(root, 'dist', 'packages') },
    'sign-key': { type: 'string' },
    fast: { type: 'boolean', default: false },
  },
})
const { version } = values
const target = resolve(values.to)
const level = values.fast ? 0 : 6

/** Bound of the archive. */
const ARCHIVE_BYTES_MAX = 60 * 1024 ** 2
const NODE_MAJOR = '24'
/** What a signature is for, so that one of the same key for something else is none of this. */
const SIGNED_AS = 'slotline-package'

/**
 * Dependencies that the package leaves out: the sandbox, which is for development and larger than
 * the service; and the page's libraries, which its build contains.
 */
const LEFT_OUT = new Set(['bs58', 'litesvm', 'oidc-provider', 'preact', 'uplot'])

const fail = message => {
  process.stderr.write(`slotline: ${message}\n`)
  process.exit(1)
}

const run = (command, args, options = {}) => {
  const { error, status, stderr, stdout } = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
    ...options,
  })
  if (status !== 0) fail(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`)
  return stdout
}

/** The folder of a package as one of `from` finds it; undefined for an optional one of others. */
const findPackage = (name, from) => {
  for (let folder = from; folder.startsWith(root); folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name)
    if (existsSync(join(found, 'package.json'))) return found
  }
  return undefined
}

/** Folders of all packages that these need, relative to the root. */
const closureOf = names => {
  const found = new Set()
  const visit = (name, from, isOptional) => {
    const folder = findPackage(name, from)
    if (folder === undefined) {
      if (!isOptional) fail(`${name} is not installed`)
      return
    }
    if (found.has(folder)) return
    found.add(folder)
    const own = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const optional = new Set(Object.keys(own.optionalDependencies ?? {}))
    // An optional peer is a tool of developers: the compiler of TypeScript, for one.
    const peers = Object.keys(own.peerDependencies ?? {}).filter(
      peer => own.peerDependenciesMeta?.[peer]?.optional !== true,
    )
    const needed = [...Object.keys(own.dependencies ?? {}), ...optional, ...peers]
    // Those of @types/ have no code.
    for (const each of needed.filter(other => !other.startsWith('@types/')))
      visit(each, folder, optional.has(each))
  }
  for (const name of names) visit(name, root, false)
  return [...found].map(folder => relative(root, folder)).toSorted()
}

const isLicence = path => /^(licen[cs]e|copying|notice)/i.test(basename(path))

/** Without what a package has for developers, and binaries for other systems and releases. */
const isNeeded = path => {
  const name = basename(path)
  if (isLicence(path)) return true
  if (/\.node$/.test(name)) return !/(musl|\.abi\d+\.)/.test(name)
  return !(
    /^\.|\.(ts|cts|mts|map|md|markdown|flow|jsdoc|c|cc|cpp|h|gyp|mdb)$/i.test(name) ||
    /[/\\](tests?|benchmarks?|examples?|docs?|dependencies)$/.test(path)
  )
}

/** Copies the packages of npm, or the licences of those in the programs; answers their folders. */
const copyPackages = stage => {
  const names = Object.keys(manifest.dependencies).filter(name => !LEFT_OUT.has(name))
  const loaded = closureOf(names.filter(name => NOT_BUNDLED.includes(name)))
  const folders = closureOf(names)
  for (const folder of folders)
    cpSync(join(root, folder), join(stage, folder), {
      recursive: true,
      dereference: true,
      filter: source => {
        const path = relative(join(root, folder), source)
        // Packages inside a package are in the list themselves.
        if (path.split('/').includes('node_modules')) return false
        return loaded.includes(folder) ? isNeeded(source) : path === '' || isLicence(path)
      },
    })
  return folders
}

const isOfService = path =>
  !path.endsWith('.map') &&
  !/^(test|bench|packages|(chain-provider|machine)\.js|command-line\/run-sandbox-.*)(\/|$)/.test(
    path,
  )

const PAGES = ['docs/operations/README.md', 'docs/configuration.md']

/** Pages for operators, with every page and file that they link. Folders of tests are no pages. */
const copyPages = stage => {
  for (const path of linkedFiles(root, PAGES))
    if (!path.startsWith('test/')) cpSync(join(root, path), join(stage, path), { recursive: true })
}

const readText = path => readFileSync(join(root, path), 'utf8')

/** Names what the package has of others. */
const writeSbom = (stage, folders) => {
  const { name, commit } = JSON.parse(readFileSync(join(stage, 'package.json'), 'utf8'))
  const sbom = createSbom({
    name,
    version,
    commit,
    node: RELEASES[NODE_MAJOR].version,
    npm: { lock: JSON.parse(readText('package-lock.json')), folders },
    crates: { lock: readText('native/Cargo.lock'), root: 'addon' },
    server: { lock: readText('native/uws/sources/Cargo.lock'), crate: 'libuwebsockets-sys' },
  })
  writeFileSync(join(stage, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`)
}

const copyService = stage => {
  if (!existsSync(join(root, 'dist', 'main.js'))) fail('build the service first: npm run package')
  cpSync(join(root, 'dist'), join(stage, 'dist'), {
    recursive: true,
    filter: source => isOfService(relative(join(root, 'dist'), source)),
  })
  const addon = `slotline.${process.platform}-${process.arch}-gnu.node`
  mkdirSync(join(stage, 'native', 'addon'), { recursive: true })
  for (const name of ['index.js', addon])
    cpSync(join(root, 'native', 'addon', name), join(stage, 'native', 'addon', name))
  const { name, type, license, imports } = manifest
  const commit = run('git', ['rev-parse', 'HEAD'], { cwd: root }).trim()
  const own = { name, version, private: true, license, type, imports, commit }
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(own, null, 2)}\n`)
  cpSync(join(root, 'LICENSE'), join(stage, 'LICENSE'))
  cpSync(join(root, 'deploy'), join(stage, 'deploy'), {
    recursive: true,
    filter: source => !/[/\\](debian|slotline\.sh)$/.test(source),
  })
}

const copyNode = stage => {
  mkdirSync(join(stage, 'bin'))
  const { binary } = installNode(NODE_MAJOR, fail)
  cpSync(binary, join(stage, 'bin', 'node'))
  cpSync(join(dirname(dirname(binary)), 'LICENSE'), join(stage, 'bin', 'LICENSE.node.txt'))
  cpSync(join(root, 'deploy', 'slotline.sh'), join(stage, 'bin', 'slotline'))
}

const filesUnder = folder =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath ?? entry.path, entry.name))

const binariesOf = stage =>
  filesUnder(stage).filter(file => file.endsWith('.node') || file === join(stage, 'bin', 'node'))

/** The newest version of the C library that a binary needs. */
const glibcOf = stage => {
  const versions = binariesOf(stage).flatMap(file =>
    Array.from(run('objdump', ['-T', file]).matchAll(/GLIBC_2\.(\d+)/g), ([, minor]) =>
      Number(minor),
    ),
  )
  return `2.${Math.max(...versions)}`
}

/** Modes do not depend on the umask of who packages. */
const setModes = folder => {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name)
    if (entry.isSymbolicLink()) continue
    const isProgram = entry.isDirectory() || /[/\\](bin|DEBIAN)[/\\][^/\\.]+$/.test(path)
    chmodSync(path, isProgram ? 0o755 : 0o644)
  }
  chmodSync(folder, 0o755)
}

const makeArchive = (stage, name) => {
  const file = join(target, `${name}.tar.xz`)
  const order = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=@0']
  run('tar', [...order, '-C', dirname(stage), '-cJf', file, basename(stage)], {
    env: { ...process.env, XZ_OPT: `-${level} -T0` },
  })
  return file
}

const makeDebian = (stage, work) => {
  const tree = join(work, 'debian')
  const library = join(tree, 'usr', 'lib', 'slotline')
  const doc = join(tree, 'usr', 'share', 'doc', 'slotline')
  const units = join(tree, 'lib', 'systemd', 'system')
  for (const folder of [join(tree, 'DEBIAN'), join(tree, 'usr', 'bin'), doc, units])
    mkdirSync(folder, { recursive: true })
  cpSync(stage, library, { recursive: true })
  symlinkSync('../lib/slotline/bin/slotline', join(tree, 'usr', 'bin', 'slotline'))
  cpSync(join(root, 'deploy', 'slotline.service'), join(units, 'slotline.service'))
  for (const name of ['docs', 'sbom.cdx.json'])
    symlinkSync(`../../../lib/slotline/${name}`, join(doc, name))
  cpSync(join(root, 'LICENSE'), join(doc, 'copyright'))
  const bytes = filesUnder(tree).reduce((sum, file) => sum + statSync(file).size, 0)
  const control = readFileSync(join(root, 'deploy', 'debian', 'control'), 'utf8')
    .replace('@VERSION@', version)
    .replace('@SIZE@', String(Math.ceil(bytes / 1024)))
    .replace('@GLIBC@', glibcOf(library))
  writeFileSync(join(tree, 'DEBIAN', 'control'), control)
  for (const script of ['postinst', 'prerm', 'postrm'])
    cpSync(join(root, 'deploy', 'debian', script), join(tree, 'DEBIAN', script))
  setModes(tree)
  const file = join(target, `slotline_${version}_amd64.deb`)
  run('dpkg-deb', ['--root-owner-group', '-Zxz', `-z${level}`, '--build', tree, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: '0' },
  })
  return file
}

/** Signs the checksums, of which one signature is enough: they name every file. */
const signSums = key => {
  const file = join(target, 'SHA256SUMS')
  rmSync(`${file}.sig`, { force: true })
  if (key !== undefined) run('ssh-keygen', ['-Y', 'sign', '-f', key, '-n', SIGNED_AS, file])
}

if (process.platform !== 'linux' || process.arch !== 'x64') fail('packages are made on Linux x64')
const work = mkdtempSync(join(tmpdir(), 'slotline-package-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
const name = `slotline-${version}-linux-x64`
const stage = join(work, name)
mkdirSync(stage)
mkdirSync(target, { recursive: true })
copyService(stage)
copyPages(stage)
writeSbom(stage, copyPackages(stage))
copyNode(stage)
for (const file of binariesOf(stage)) run('strip', ['--strip-unneeded', file])
setModes(stage)
const bill = join(target, `slotline-${version}.cdx.json`)
cpSync(join(stage, 'sbom.cdx.json'), bill)
const made = [makeArchive(stage, name), makeDebian(stage, work), bill]
const sums = made.map(file => {
  const digest = createHash('sha256').update(readFileSync(file)).digest('hex')
  return `${digest}  ${basename(file)}\n`
})
writeFileSync(join(target, 'SHA256SUMS'), sums.join(''))
signSums(values['sign-key'])
for (const file of made) {
  const { size } = statSync(file)
  process.stdout.write(`${file}: ${(size / 1024 ** 2).toFixed(1)} MiB\n`)
  if (size > ARCHIVE_BYTES_MAX && !values.fast)
    fail(`${file} has more than ${ARCHIVE_BYTES_MAX} bytes`)
}

/** Releases of Node that node-releases.json pins, installed from their npm packages. */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/** The package has some 30 MB. */
const INSTALL_MS = 300_000

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** By major version. */
export const RELEASES = JSON.parse(
  readFileSync(join(root, 'scripts', 'node-releases.json'), 'utf8'),
)

/** What npm has installed there, which it records last. */
const integrityOf = (folder, name) => {
  try {
    const lock = join(folder, 'node_modules', '.package-lock.json')
    return JSON.parse(readFileSync(lock, 'utf8')).packages[`node_modules/${name}`].integrity
  } catch {
    return undefined
  }
}

/**
 * Version and binary of a major version, which is installed if it is not yet. `fail` ends the
 * process with a message: another digest than the pinned one is a reason.
 */
export const installNode = (major, fail) => {
  const { version, integrity } = RELEASES[major]
  const name = `node-linux-${process.arch}`
  const wanted = integrity[process.arch]
  if (process.platform !== 'linux' || wanted === undefined)
    fail(`node-releases.json names no Node ${major} for ${process.platform} on ${process.arch}`)
  const folder = join(root, 'node_modules', '.node', version)
  if (integrityOf(folder, name) !== wanted) {
    rmSync(folder, { recursive: true, force: true })
    const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder]
    const install = spawnSync('npm', ['install', ...options, `${name}@${version}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: INSTALL_MS,
    })
    if (install.status !== 0) fail(`npm cannot install ${name}@${version}`)
    const installed = integrityOf(folder, name)
    if (installed !== wanted) {
      rmSync(folder, { recursive: true })
      fail(`${name}@${version} has the digest ${installed}, node-releases.json names ${wanted}`)
    }
  }
  return { version, binary: join(folder, 'node_modules', name, 'bin', 'node') }
}

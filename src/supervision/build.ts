import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What runs here. */
export type Build = {
  readonly version: string
  /** Commit of the sources; empty if it is not known. */
  readonly commit: string
  readonly node: string
  /** GNU build id of the addon, which contains the compiled server; empty if it has none. */
  readonly addon: string
}

/** The folder of the addon is that of its loader, wherever the compiled sources are. */
const ADDON = dirname(fileURLToPath(import.meta.resolve('#native')))
const ROOT = join(ADDON, '..', '..')

/** Of a commit, enough to name it. */
const COMMIT_CHARS = 12

const readText = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')

/** The commit of a checkout, which may be a worktree of another one. */
const readCommit = (): string => {
  const own = join(ROOT, '.git')
  const [, linked] = existsSync(join(own, 'HEAD'))
    ? []
    : (/^gitdir: (.*)/.exec(readText(own)) ?? [])
  const git = linked === undefined ? own : resolve(ROOT, linked)
  const head = readText(join(git, 'HEAD')).trim()
  const [, ref] = /^ref: (.*)/.exec(head) ?? []
  if (ref === undefined) return head
  const common = resolve(git, readText(join(git, 'commondir')).trim())
  const packed = new RegExp(`^([0-9a-f]+) ${ref}$`, 'm').exec(readText(join(common, 'packed-refs')))
  return readText(join(common, ref)).trim() || (packed?.[1] ?? '')
}

const readManifest = (): { readonly version: string; readonly commit?: string } => {
  const manifest: unknown = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return manifest as { version: string; commit?: string }
}

/** The version alone, without reading the addon. */
export const readVersion = (): string => readManifest().version

/** One line for an operator, without reading the addon. */
export const formatVersion = (): string => {
  const { version, commit = readCommit() } = readManifest()
  const ofCommit = commit === '' ? '' : ` (commit ${commit.slice(0, COMMIT_CHARS)})`
  return `slotline ${version}${ofCommit}, Node.js ${process.versions.node}\n`
}

/** The linker places the note of the build id behind the headers, which are shorter. */
const NOTES_BYTES = 4_096
/** Sizes of name and id, the note's type, its name. */
const BUILD_ID = Buffer.from('040000001400000003000000474e5500', 'hex')
const BUILD_ID_BYTES = 20

/** What the linker made of all that it linked, as `readelf --notes` shows it. */
const readBuildId = (file: string): string => {
  const descriptor = openSync(file, 'r')
  const head = Buffer.alloc(NOTES_BYTES)
  const bytes = readSync(descriptor, head)
  closeSync(descriptor)
  const at = head.subarray(0, bytes).indexOf(BUILD_ID)
  const from = at + BUILD_ID.length
  return at < 0 ? '' : head.toString('hex', from, from + BUILD_ID_BYTES)
}

/** What runs here, from the files that it was started from. */
export const readBuild = (): Build => {
  const { version, commit = '' } = readManifest()
  const addon = join(ADDON, `slotline.${process.platform}-${process.arch}-gnu.node`)
  return {
    version,
    // A package names its commit; it has no checkout.
    commit: commit || readCommit(),
    node: process.versions.node,
    addon: readBuildId(addon),
  }
}

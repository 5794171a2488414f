import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What runs here. */
export type Build = {
  readonly version: string
  /** Commit of the sources; empty if it is not known. */
  readonly commit: string
  readonly node: string
  /** SHA-256 of the addon, which contains the compiled server. */
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

/** What runs here, from the files that it was started from. */
export const readBuild = (): Build => {
  const { version, commit = '' } = readManifest()
  const addon = readFileSync(join(ADDON, `slotline.${process.platform}-${process.arch}-gnu.node`))
  return {
    version,
    // A package names its commit; it has no checkout.
    commit: commit || readCommit(),
    node: process.versions.node,
    addon: createHash('sha256').update(addon).digest('hex'),
  }
}

import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { LoadedConfig } from './load.js'

/** Permissions of users other than the owner. */
const OTHERS = 0o077

type Private = { readonly path: string; readonly mode: '600' | '700' }

const privateOf = ({ config, file, ...loaded }: LoadedConfig): readonly Private[] => [
  ...(loaded.holdsSecret ? [{ path: file, mode: '600' } as const] : []),
  ...loaded.secretFiles.map(path => ({ path, mode: '600' }) as const),
  { path: config.access.keyFile, mode: '600' },
  { path: config.access.adminTokenFile, mode: '600' },
  // Their files are reached through them only.
  { path: join(config.dataDir, 'access'), mode: '700' },
  { path: join(config.dataDir, 'control'), mode: '700' },
]

/**
 * Throws where users other than the owner have any permission on a file or folder that holds
 * credentials; the message names it, its mode, and the command that corrects it. What does not
 * exist yet is created with the right mode. The mode is read, not tried: root may read everything.
 */
export const demandPrivateFiles = (loaded: LoadedConfig): void => {
  for (const { path, mode } of privateOf(loaded)) {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined || (found.mode & OTHERS) === 0) continue
    const given = (found.mode & 0o777).toString(8)
    throw new Error(
      `${path} holds secrets and is open to others (mode ${given}); run: chmod ${mode} ${path}`,
    )
  }
}

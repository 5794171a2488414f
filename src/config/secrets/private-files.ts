import { statSync } from 'node:fs'
import { join } from 'node:path'
import { explainOpen } from '../../shared/files/private-file.js'
import type { LoadedConfig } from '../load.js'

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
 * Throws if users other than the owner have any permission on a file or folder that holds
 * credentials; the message names it, its mode, and the command that corrects it. What does not
 * exist yet is created with the right mode.
 */
export const demandPrivateFiles = (loaded: LoadedConfig): void => {
  for (const { path, mode } of privateOf(loaded)) {
    const found = statSync(path, { throwIfNoEntry: false })
    const why = found === undefined ? undefined : explainOpen(path, found.mode, mode)
    if (why !== undefined) throw new Error(why)
  }
}

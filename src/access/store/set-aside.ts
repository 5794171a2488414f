import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '../../shared/files/atomic-file.js'
import { DATA_FILE, LOCK_FILE } from '../../storage/backup-draft.js'
import { demandDiskSpace } from '../../storage/disk-space.js'
import type { AccessStore } from './access-store.js'

/** Folder of the one copy that is kept; nothing reads it. */
const ASIDE = 'access.former'

/**
 * Copies the access store of a data directory aside, in place of the last copy, before it is
 * emptied: the folder itself cannot be renamed, because edges and control have it open. Returns the
 * folder, which is complete and on disk.
 */
export const setAside = async (
  store: AccessStore,
  dataDir: string,
  diskReserveBytes: number,
): Promise<string> => {
  const target = join(dataDir, ASIDE)
  const draft = `${target}.unfinished`
  rmSync(draft, { recursive: true, force: true })
  demandDiskSpace(dataDir, store.stats().usedBytes, diskReserveBytes)
  mkdirSync(draft, { mode: 0o700 })
  await store.copyTo(draft)
  rmSync(join(draft, LOCK_FILE), { force: true })
  for (const path of [join(draft, DATA_FILE), draft]) syncPath(path)
  if (existsSync(target)) rmSync(target, { recursive: true })
  renameSync(draft, target)
  syncPath(dataDir)
  return target
}

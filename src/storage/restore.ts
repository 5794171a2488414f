import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openStoreInspector } from '../native/store-inspector.js'
import type { StoreOptions, Tip } from '../native/store.js'
import { syncPath } from '../shared/files/atomic-file.js'
import { DATA_FILE, LOCK_FILE } from './backup-draft.js'
import { readLabel, type BackupLabel, type CopyOptions } from './backup.js'
import { sha256OfFile } from './checksum.js'
import { demandDiskSpace, watchFileSize } from './disk-space.js'
import {
  nextGeneration,
  removeOtherGenerations,
  RESTORE_DRAFT,
  setCurrentGeneration,
  storesPath,
} from './generations.js'
import { lockStores } from './lock-stores.js'
import { removeOnExit } from './remove-on-exit.js'

const tipOf = (dir: string, options: StoreOptions): Tip | undefined => {
  try {
    const store = openStoreInspector(dir, options)
    const tip = store.tip()
    store.close()
    return tip
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(`${dir} `, '') : 'unreadable'
    throw new Error(`the backup cannot be used here: it ${reason}`, { cause: error })
  }
}

const demandLabel = (source: string, network: string): BackupLabel => {
  const label = readLabel(source)
  if (label.network === network) return label
  throw new Error(`${source} is a backup of network ${label.network}, not of ${network}`)
}

/**
 * Copies the backup into `draft` and checks the copy: its bytes before it is opened, because a
 * process that maps a truncated file ends with SIGBUS, then that it ends with the labelled block.
 */
const copyBackup = async (
  source: string,
  draft: string,
  label: BackupLabel,
  { storeOptions, onProgress }: CopyOptions,
): Promise<void> => {
  const { size } = statSync(join(source, DATA_FILE))
  if (size !== label.bytes)
    throw new Error(`${source} is damaged: it has ${size} bytes in place of ${label.bytes}`)
  const file = join(draft, DATA_FILE)
  const copying = copyFile(join(source, DATA_FILE), file)
  // Written once and read once.
  await watchFileSize(file, copying, bytes => onProgress(bytes, 2 * size))
  const sha256 = await sha256OfFile(file, bytes => onProgress(size + bytes, 2 * size))
  if (sha256 !== label.sha256)
    throw new Error(`${source} is damaged: its SHA-256 is ${sha256} in place of ${label.sha256}`)
  const tip = tipOf(draft, storeOptions)
  if (tip?.slot !== label.slot || tip.blockhash !== label.blockhash)
    throw new Error(`${source} is damaged: its newest block is not of slot ${label.slot}`)
  rmSync(join(draft, LOCK_FILE), { force: true })
  for (const path of [file, draft]) syncPath(path)
}

/**
 * Makes a backup the live store of a network while no service runs on the data directory. The store
 * before it stays until the new one is complete, and is removed then. `beforeLive` is called
 * between the two.
 */
export const restoreFrom = async (
  source: string,
  options: CopyOptions & { readonly beforeLive: (stores: string) => void },
): Promise<{ readonly generation: string; readonly slot: number }> => {
  const { dataDir, network, beforeLive } = options
  const label = demandLabel(source, network)
  const stores = storesPath(dataDir, network)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  mkdirSync(stores, { recursive: true })
  if (!lockStores(dataDir, network))
    throw new Error(`a Slotline runs on ${dataDir}: stop it, then restore`)

  const draft = join(stores, RESTORE_DRAFT)
  rmSync(draft, { recursive: true, force: true })
  demandDiskSpace(stores, statSync(join(source, DATA_FILE)).size, options.diskReserveBytes)
  mkdirSync(draft)
  const { keep } = removeOnExit(draft)
  await copyBackup(source, draft, label, options)
  beforeLive(stores)
  const generation = nextGeneration(stores)
  renameSync(draft, join(stores, generation))
  keep()
  syncPath(stores)
  setCurrentGeneration(stores, generation)
  removeOtherGenerations(stores, [generation])
  return { generation, slot: label.slot }
}

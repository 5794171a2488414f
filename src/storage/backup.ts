import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openStoreInspector } from '../native/store-inspector.js'
import type { StoreOptions, Tip } from '../native/store.js'
import { syncPath } from '../shared/files/atomic-file.js'
import { sha256OfFile } from './checksum.js'
import { DATA_FILE, LABEL_FILE, openDraft } from './backup-draft.js'
import { demandDiskSpace, watchFileSize } from './disk-space.js'
import { demandLiveStore, storesPath } from './generations.js'
import { removeOnExit } from './remove-on-exit.js'

/** File beside the copy: whose it is, the block that it must end with, and its bytes. */
export type BackupLabel = {
  readonly network: string
  readonly slot: number
  readonly blockhash: string
  readonly bytes: number
  /** Of the copy, in hexadecimal. */
  readonly sha256: string
}

const isLabel = (value: unknown): value is BackupLabel =>
  typeof value === 'object' &&
  value !== null &&
  'network' in value &&
  typeof value.network === 'string' &&
  'slot' in value &&
  typeof value.slot === 'number' &&
  'blockhash' in value &&
  typeof value.blockhash === 'string' &&
  'bytes' in value &&
  typeof value.bytes === 'number' &&
  'sha256' in value &&
  typeof value.sha256 === 'string'

/** A label from its text; undefined if it is none. */
export const parseLabel = (text: string): BackupLabel | undefined => {
  try {
    const label: unknown = JSON.parse(text)
    return isLabel(label) ? label : undefined
  } catch {
    return undefined
  }
}

/** The label of a backup. Throws if the folder contains no backup. */
export const readLabel = (dir: string): BackupLabel => {
  const file = join(dir, LABEL_FILE)
  const label = existsSync(file) ? parseLabel(readFileSync(file, 'utf8')) : undefined
  if (label !== undefined && existsSync(join(dir, DATA_FILE))) return label
  throw new Error(`${dir} contains no backup, or one without the checksum that restore demands`)
}

/** What a backup or a restore works with. */
export type CopyOptions = {
  readonly dataDir: string
  readonly network: string
  readonly storeOptions: StoreOptions
  /** Bytes that must stay free beside the copy. */
  readonly diskReserveBytes: number
  readonly onProgress: (bytes: number, totalBytes: number) => void
}

const checkTarget = (target: string): void => {
  if (existsSync(target)) throw new Error(`${target} exists: name a folder that does not`)
  if (!existsSync(dirname(target))) throw new Error(`${dirname(target)} does not exist`)
}

/** Opens the copy as a store, which proves that it is one, and answers its newest block. */
const tipOfCopy = (dir: string, options: StoreOptions): Tip => {
  const copy = openStoreInspector(dir, options)
  const tip = copy.tip()
  copy.close()
  if (tip === undefined) throw new Error('the copy has no block')
  return tip
}

/**
 * Writes a compacted copy of a network's live store, as of one block, while its indexer runs.
 * `target` appears complete or not at all. Answers the slot and the size of the copy.
 */
export const backUp = async (
  target: string,
  { dataDir, network, storeOptions, diskReserveBytes, onProgress }: CopyOptions,
): Promise<{ readonly slot: number; readonly bytes: number }> => {
  checkTarget(target)
  const parent = dirname(target)
  const store = openStoreInspector(demandLiveStore(dataDir, network).dir, storeOptions)
  if (store.tip() === undefined) throw new Error(`the store of network ${network} has no block yet`)
  const { usedBytes } = store.stats()
  demandDiskSpace(parent, usedBytes, diskReserveBytes)
  const draft = openDraft(target, storesPath(dataDir, network))
  const { keep } = removeOnExit(draft.dir)
  // Registered after the removal of the folder, so that it runs after it.
  process.once('exit', draft.removeNote)

  const file = join(draft.dir, DATA_FILE)
  // Written once and read once.
  const total = 2 * usedBytes
  await watchFileSize(file, store.copyTo(draft.dir), bytes => onProgress(bytes, total))
  store.close()
  const { blockhash, slot } = tipOfCopy(draft.dir, storeOptions)
  const { size: bytes } = statSync(file)
  const sha256 = await sha256OfFile(file, read => onProgress(bytes + read, total))
  const label: BackupLabel = { network, slot, blockhash, bytes, sha256 }
  writeFileSync(join(draft.dir, LABEL_FILE), `${JSON.stringify(label)}\n`)
  syncPath(join(draft.dir, LABEL_FILE))
  draft.removeLocks()
  syncPath(draft.dir)
  renameSync(draft.dir, target)
  keep()
  syncPath(parent)
  return { slot, bytes }
}

import {
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../config/config.js'
import { openCaretaker } from '../native/inspector.js'
import { DATA, LABEL, openDraft } from './backup-draft.js'
import { storesPath, syncPath } from './generations.js'
import { toStoreOptions } from './native-options.js'
import { createProgress } from './progress.js'
import { liveStore } from './verify.js'

/** What stands beside the copy: whose it is, and what must be in it. */
export type BackupLabel = {
  readonly network: string
  readonly slot: number
  readonly blockhash: string
}

/** How often the size of what is being written is looked at. */
const LOOK_MS = 250

export const readLabel = (dir: string): BackupLabel => {
  try {
    const label: unknown = JSON.parse(readFileSync(join(dir, LABEL), 'utf8'))
    if (typeof label === 'object' && label !== null)
      if ('network' in label && 'slot' in label && 'blockhash' in label) {
        const { blockhash, network, slot } = label
        if (
          typeof network === 'string' &&
          typeof slot === 'number' &&
          typeof blockhash === 'string' &&
          existsSync(join(dir, DATA))
        )
          return { network, slot, blockhash }
      }
  } catch {
    // No file, or none of ours: the same to whoever named the folder.
  }
  throw new Error(`${dir} holds no backup`)
}

/** Refuses where a file of this size would leave the indexer no room to write. */
export const demandRoom = (config: Config, dir: string, bytes: number): void => {
  const { bavail, bsize } = statfsSync(dir)
  const needed = bytes + config.store.diskReserveBytes
  if (bavail * bsize < needed)
    throw new Error(
      `${dir} has ${bavail * bsize} bytes free, but ${needed} are needed: about ${bytes} for the copy and ` +
        `${config.store.diskReserveBytes} of store.diskReserveBytes`,
    )
}

/** Shows how far a file has grown, until its writing has ended. */
export const watchFile = async (
  file: string,
  total: number,
  words: string,
  written: Promise<void>,
): Promise<void> => {
  const progress = createProgress(process.stderr, 'bytes', () => performance.now())
  const sizeOf = (): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  const timer = setInterval(() => progress.show(sizeOf(), total, words), LOOK_MS)
  await written.finally(() => clearInterval(timer))
  progress.end()
}

/**
 * Removes what is not finished, also where a signal ends the command; `keep` says that it is
 * finished.
 */
export const removeUnfinished = (dir: string): { readonly keep: () => void } => {
  let isFinished = false
  const remove = (): void => {
    if (!isFinished) rmSync(dir, { recursive: true, force: true })
  }
  const end = (): void => process.exit(1)
  process.once('SIGTERM', end).once('SIGINT', end).once('SIGHUP', end)
  process.once('exit', remove)
  return { keep: () => (isFinished = true) }
}

/**
 * `slotline backup`: a compacted copy of a network's store as of one block, made while its indexer
 * goes on. The target is there as a whole or not at all.
 */
export const backup = async (
  config: Config,
  { network, to }: { readonly network: string; readonly to: string },
): Promise<void> => {
  process.title = 'slotline backup'
  const target = resolve(to)
  const parent = dirname(target)
  if (existsSync(target)) throw new Error(`${target} exists: name a folder that does not`)
  if (!existsSync(parent)) throw new Error(`${parent} does not exist`)
  const { dir } = liveStore(config, network)
  const options = toStoreOptions(config, network)
  const store = openCaretaker(dir, options)
  if (store.tip() === undefined) throw new Error(`the store of network ${network} has no block yet`)
  const { usedBytes } = store.stats()
  demandRoom(config, parent, usedBytes)
  const { dir: draft, forget, strip } = openDraft(target, storesPath(config.dataDir, network))
  // After the folder is removed, where a signal ends this.
  const { keep } = removeUnfinished(draft)
  process.once('exit', forget)

  const file = join(draft, DATA)
  await watchFile(file, usedBytes, `backup ${network}`, store.copyTo(file))
  store.close()
  // It is a store only if it opens as one.
  const copy = openCaretaker(draft, options)
  const tip = copy.tip()
  copy.close()
  if (tip === undefined) throw new Error('the copy has no block')
  const label: BackupLabel = { network, slot: tip.slot, blockhash: tip.blockhash }
  writeFileSync(join(draft, LABEL), `${JSON.stringify(label)}\n`)
  syncPath(join(draft, LABEL))
  strip()
  syncPath(draft)
  renameSync(draft, target)
  keep()
  syncPath(parent)
  const bytes = statSync(join(target, DATA)).size
  process.stdout.write(`${target}: network ${network} as of slot ${tip.slot}, ${bytes} bytes\n`)
}

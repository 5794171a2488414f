import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Config } from '../config/config.js'
import { openCaretaker } from '../native/inspector.js'
import { lockFile } from '../native/os.js'
import type { StoreOptions, Tip } from '../native/store.js'
import { demandRoom, readLabel, removeUnfinished, watchFile } from './backup.js'
import { DATA, LOCK } from './backup-draft.js'
import { forgetBootstrap } from '../ingest/bootstrap/state.js'
import {
  removeOtherGenerations,
  RESTORE_DRAFT,
  setCurrentGeneration,
  storesPath,
  syncPath,
} from './generations.js'
import { toStoreOptions } from './native-options.js'

/** One more than the greatest number among the generations. */
const nextGeneration = (stores: string): string =>
  String(1 + Math.max(0, ...readdirSync(stores).map(Number).filter(Number.isSafeInteger)))

const tipOf = (dir: string, options: StoreOptions): Tip | undefined => {
  try {
    const store = openCaretaker(dir, options)
    const tip = store.tip()
    store.close()
    return tip
  } catch (error) {
    const says = error instanceof Error ? error.message.replace(`${dir} `, '') : 'unreadable'
    throw new Error(`the backup cannot be used here: it ${says}`, { cause: error })
  }
}

/**
 * `slotline restore`: makes a backup the live store of a network, while no service runs on the data
 * directory. The store before stays until the new one is whole, and goes then.
 */
export const restore = async (
  config: Config,
  { network, from }: { readonly network: string; readonly from: string },
): Promise<void> => {
  process.title = 'slotline restore'
  const source = resolve(from)
  if (!config.networks.some(({ id }) => id === network)) throw new Error(`no network ${network}`)
  const label = readLabel(source)
  if (label.network !== network)
    throw new Error(`${source} is a backup of network ${label.network}, not of ${network}`)
  const stores = storesPath(config.dataDir, network)
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  mkdirSync(stores, { recursive: true })
  const locks = [join(config.dataDir, 'supervisor.lock'), join(stores, 'indexer.lock')]
  // For as long as this process lives: no service can start meanwhile.
  if (!locks.every(lockFile))
    throw new Error(`a Slotline runs on ${config.dataDir}: stop it, then restore`)

  const draft = join(stores, RESTORE_DRAFT)
  rmSync(draft, { recursive: true, force: true })
  const bytes = statSync(join(source, DATA)).size
  demandRoom(config, stores, bytes)
  mkdirSync(draft)
  const { keep } = removeUnfinished(draft)
  const file = join(draft, DATA)
  await watchFile(file, bytes, `restore ${network}`, copyFile(join(source, DATA), file))
  const tip = tipOf(draft, toStoreOptions(config, network))
  if (tip?.slot !== label.slot || tip.blockhash !== label.blockhash)
    throw new Error(`${source} is damaged: it does not hold slot ${label.slot} as its newest`)
  rmSync(join(draft, LOCK), { force: true })
  for (const path of [file, draft]) syncPath(path)

  // It would replace what is restored now.
  forgetBootstrap(stores)
  const generation = nextGeneration(stores)
  renameSync(draft, join(stores, generation))
  keep()
  syncPath(stores)
  setCurrentGeneration(stores, generation)
  syncPath(stores)
  removeOtherGenerations(stores, [generation])
  process.stdout.write(`network ${network}: store ${generation}, as of slot ${tip.slot}\n`)
}

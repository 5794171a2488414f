import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/**
 * Folder of one network's stores. The live one is named by the file `CURRENT` in it.
 */
export const storesPath = (dataDir: string, network: string): string =>
  join(dataDir, 'accounts', network)

/** Where a restored store is until it is whole. No generation is called so. */
export const RESTORE_DRAFT = 'unfinished'

/** Name of the live store, or undefined before the first. */
export const currentGeneration = (stores: string): string | undefined => {
  try {
    return readFileSync(join(stores, 'CURRENT'), 'utf8').trim()
  } catch {
    return undefined
  }
}

/**
 * Throws where nothing can be written in the folder of a network's stores, in words for an
 * operator.
 */
export const demandWritable = (stores: string): void => {
  try {
    accessSync(stores, constants.W_OK)
  } catch (error) {
    throw new Error(
      `${stores} cannot be written, it may only be read: mend its mount or its modes`,
      { cause: error },
    )
  }
}

/** Waits until a file, or the names in a folder, are on the disk. */
export const syncPath = (path: string): void => {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Makes a store the live one by one atomic rename: a reader sees the old name or the new one. */
export const setCurrentGeneration = (stores: string, generation: string): void => {
  mkdirSync(stores, { recursive: true })
  const draft = join(stores, 'CURRENT.new')
  writeFileSync(draft, `${generation}\n`)
  syncPath(draft)
  renameSync(draft, join(stores, 'CURRENT'))
}

/**
 * Name of the first store of a network. It begins where its feed does: what did not change since is
 * not in it.
 */
export const FIRST_GENERATION = '1'

/**
 * Is there while a network that never had a whole store is given one: edges say so by their health.
 */
const INCOMPLETE = 'INCOMPLETE'

/** Whether a network's live store is known to lack what is being loaded. */
export const isIncomplete = (stores: string): boolean => existsSync(join(stores, INCOMPLETE))

/**
 * Says that to every process of the network, until it is taken back; a start finds it as it was
 * left.
 */
export const setIncomplete = (stores: string, value: boolean): void => {
  if (value) writeFileSync(join(stores, INCOMPLETE), '')
  else rmSync(join(stores, INCOMPLETE), { force: true })
}

/**
 * Takes the live store away from readers that open one from now on, without another in its place
 * yet.
 */
export const clearCurrentGeneration = (stores: string): void =>
  rmSync(join(stores, 'CURRENT'), { force: true })

const DRY_RUN = /^dry-run-(?<pid>\d+)$/
/** Folder in which a process sorts what it only counts. No generation is called so. */
export const dryRunName = (pid: number): string => `dry-run-${pid}`

/** Whether a folder is of a dry run that goes on. */
const isOfDryRun = (name: string): boolean => {
  const pid = DRY_RUN.exec(name)?.groups?.['pid']
  return pid !== undefined && existsSync(`/proc/${pid}`)
}

/**
 * Removes every store but the given ones, and what killed processes left beside them. Readers that
 * still map a removed one keep it until they let go: the files lose their names at once and their
 * space then.
 */
export const removeOtherGenerations = (stores: string, kept: readonly string[]): void => {
  for (const entry of readdirSync(stores, { withFileTypes: true }))
    if (entry.isDirectory() && !kept.includes(entry.name) && !isOfDryRun(entry.name))
      rmSync(join(stores, entry.name), { recursive: true, force: true })
}

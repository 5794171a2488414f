import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { replaceFileDurably } from '../shared/files/atomic-file.js'

/**
 * Folder of one network's stores: a folder per generation; the file `CURRENT` names the live one.
 */
export const storesPath = (dataDir: string, network: string): string =>
  join(dataDir, 'accounts', network)

/** Folder of a restored store until it is complete. Never the name of a generation. */
export const RESTORE_DRAFT = 'unfinished'

const readName = (stores: string, file: string): string | undefined => {
  try {
    return readFileSync(join(stores, file), 'utf8').trim()
  } catch {
    return undefined
  }
}

/** Name of the live store; undefined before there is one. */
export const currentGeneration = (stores: string): string | undefined => readName(stores, 'CURRENT')

/** Makes a store the live one: a reader opens the old one or the new one. */
export const setCurrentGeneration = (stores: string, generation: string): void => {
  mkdirSync(stores, { recursive: true })
  replaceFileDurably(join(stores, 'CURRENT'), `${generation}\n`)
}

/**
 * The live store of before, while the one of now is rebuilt and lacks accounts: it is used again
 * where the options that it was built for are set back.
 */
export const formerGeneration = (stores: string): string | undefined => {
  const former = readName(stores, 'FORMER')
  if (former === undefined || former === currentGeneration(stores)) return undefined
  return existsSync(join(stores, former, 'data.mdb')) ? former : undefined
}

export const setFormerGeneration = (stores: string, generation: string): void =>
  replaceFileDurably(join(stores, 'FORMER'), `${generation}\n`)

/** Leaves a network without a live store, for readers that open one from now on. */
export const clearCurrentGeneration = (stores: string): void =>
  rmSync(join(stores, 'CURRENT'), { force: true })

/** The live store of a network. Throws if there is none. */
export const demandLiveStore = (
  dataDir: string,
  network: string,
): { readonly generation: string; readonly dir: string } => {
  const stores = storesPath(dataDir, network)
  const generation = currentGeneration(stores)
  if (generation === undefined) throw new Error(`network ${network} has no store in ${dataDir} yet`)
  return { generation, dir: join(stores, generation) }
}

/** Name of the first store of a network, which begins with its feed and lacks older accounts. */
export const FIRST_GENERATION = '1'

/**
 * Name of a further store: one more than the greatest number, and never the first, which a service
 * may create at any start.
 */
export const nextGeneration = (stores: string): string => {
  const numbers = readdirSync(stores).map(Number).filter(Number.isSafeInteger)
  return String(1 + Math.max(Number(FIRST_GENERATION), ...numbers))
}

/** Throws if nothing can be written in the folder of a network's stores. */
export const demandWritable = (stores: string): void => {
  try {
    accessSync(stores, constants.W_OK)
  } catch (error) {
    throw new Error(`${stores} is not writable: check its mount options and permissions`, {
      cause: error,
    })
  }
}

const DRY_RUN = /^dry-run-(?<pid>\d+)$/
/** Work folder of a process that only counts a snapshot. Never the name of a generation. */
export const dryRunName = (pid: number): string => `dry-run-${pid}`

const isActiveDryRun = (name: string): boolean => {
  const pid = DRY_RUN.exec(name)?.groups?.['pid']
  return pid !== undefined && existsSync(`/proc/${pid}`)
}

/**
 * Removes every store but the given ones, and what killed processes left beside them. Readers that
 * still map a removed store keep it until they close it: its space is freed then.
 */
export const removeOtherGenerations = (stores: string, kept: readonly string[]): void => {
  for (const entry of readdirSync(stores, { withFileTypes: true }))
    if (entry.isDirectory() && !kept.includes(entry.name) && !isActiveDryRun(entry.name))
      rmSync(join(stores, entry.name), { recursive: true, force: true })
  const former = formerGeneration(stores)
  if (former === undefined || !kept.includes(former))
    rmSync(join(stores, 'FORMER'), { force: true })
}

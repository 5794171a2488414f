import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { lockFile } from '../native/os.js'

/** LMDB's name of a store's file, and of the one that its readers make beside it. */
export const [DATA, LOCK] = ['data.mdb', 'lock.mdb']
/** What stands beside a copy: whose it is. */
export const LABEL = 'backup.json'
const HELD = 'backup.lock'

const isDraft = (dir: string): boolean => /^\..+\.unfinished$/.test(basename(dir))
/** Among a network's stores: where a process is making a backup. */
const NOTE = /^backup-\d+\.draft$/

/** The folder that a note names; undefined where its process has just removed it. */
const readNote = (note: string): string | undefined => {
  try {
    return readFileSync(note, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** What a folder holds, if it is one of ours: nothing else in it is touched. */
const partsOf = (dir: string): readonly string[] | undefined => {
  try {
    const names = readdirSync(dir)
    const isOurs = names.every(name => [DATA, LOCK, LABEL, HELD].includes(name))
    return isDraft(dir) && isOurs && names.includes(HELD) ? names : undefined
  } catch {
    return undefined
  }
}

/** Removes what a killed backup left; one that is being made holds its lock. */
const removeLeft = (dir: string): void => {
  if (partsOf(dir) !== undefined && lockFile(join(dir, HELD)))
    rmSync(dir, { recursive: true, force: true })
}

/**
 * Removes what killed backups of a network left, wherever they were to be. For who starts on its
 * stores.
 */
export const removeLeftDrafts = (stores: string): void => {
  for (const name of readdirSync(stores).filter(name => NOTE.test(name))) {
    const note = join(stores, name)
    const dir = readNote(note)
    if (dir === undefined) continue
    removeLeft(dir)
    // A folder that is still there is of a living backup, which removes its note itself.
    if (!existsSync(dir)) rmSync(note, { force: true })
  }
}

/** Notes that name this folder. */
const notesOf = (stores: string, dir: string): readonly string[] =>
  (existsSync(stores) ? readdirSync(stores) : [])
    .filter(name => NOTE.test(name))
    .map(name => join(stores, name))
    .filter(note => readNote(note) === dir)

/** A folder beside the target that one process fills. */
export type Draft = {
  readonly dir: string
  /** Removes what only the making needed. */
  strip(): void
  /** Nothing is left to be removed by others: it has become the target, or is gone. */
  forget(): void
}

/**
 * Makes the folder beside the target, and notes among the stores where it is. What killed backups
 * left beside this target or any other of its folder is removed.
 */
export const openDraft = (target: string, stores: string): Draft => {
  const dir = join(dirname(target), `.${basename(target)}.unfinished`)
  for (const name of readdirSync(dirname(target))) {
    const left = join(dirname(target), name)
    if (left !== dir) removeLeft(left)
  }
  const note = join(stores, `backup-${process.pid}.draft`)
  try {
    writeFileSync(note, `${dir}\n`)
  } catch {
    // Where the disk of the stores is full, a backup elsewhere is what is wanted most.
  }
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (!lockFile(join(dir, HELD))) {
    rmSync(note, { force: true })
    throw new Error(`another backup to ${target} is being made`)
  }
  // The folder is ours by now, so other notes of it are of killed processes.
  for (const left of notesOf(stores, dir)) if (left !== note) rmSync(left, { force: true })
  for (const name of [DATA, LOCK, LABEL]) rmSync(join(dir, name), { force: true })
  return {
    dir,
    strip: () => {
      for (const name of [LOCK, HELD]) rmSync(join(dir, name), { force: true })
    },
    forget: () => rmSync(note, { force: true }),
  }
}

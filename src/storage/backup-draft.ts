import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { lockFile } from '../native/os.js'

/** LMDB's names for a store's file and for the lock file that readers create beside it. */
export const [DATA_FILE, LOCK_FILE] = ['data.mdb', 'lock.mdb']
/** File beside a copy that says which network and block it is of. */
export const LABEL_FILE = 'backup.json'
/** Locked while a process writes the draft. */
const OWNER_LOCK = 'backup.lock'
const DRAFT_FILES: ReadonlySet<string> = new Set([DATA_FILE, LOCK_FILE, LABEL_FILE, OWNER_LOCK])

const isDraftName = (dir: string): boolean => /^\..+\.unfinished$/.test(basename(dir))
/** A file among a network's stores that contains the path of a draft. */
const NOTE = /^backup-\d+\.draft$/

/** The folder that a note names; undefined if its process has just removed the note. */
const readNote = (note: string): string | undefined => {
  try {
    return readFileSync(note, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** Whether a folder contains a draft and nothing else. */
const isDraft = (dir: string): boolean => {
  try {
    const names = readdirSync(dir)
    const hasOnlyDraftFiles = names.every(name => DRAFT_FILES.has(name))
    return isDraftName(dir) && hasOnlyDraftFiles && names.includes(OWNER_LOCK)
  } catch {
    return false
  }
}

/** Removes a draft whose process was killed; a live one has its lock. */
const removeAbandoned = (dir: string): void => {
  if (isDraft(dir) && lockFile(join(dir, OWNER_LOCK))) rmSync(dir, { recursive: true, force: true })
}

/** Removes what killed backups of a network left, wherever they were writing. */
export const removeAbandonedDrafts = (stores: string): void => {
  for (const name of readdirSync(stores).filter(name => NOTE.test(name))) {
    const note = join(stores, name)
    const dir = readNote(note)
    if (dir === undefined) continue
    removeAbandoned(dir)
    // A folder that still exists belongs to a live backup, which removes its note itself.
    if (!existsSync(dir)) rmSync(note, { force: true })
  }
}

const notesOf = (stores: string, dir: string): readonly string[] =>
  (existsSync(stores) ? readdirSync(stores) : [])
    .filter(name => NOTE.test(name))
    .map(name => join(stores, name))
    .filter(note => readNote(note) === dir)

/** A folder beside the target that one process fills. */
export type Draft = {
  readonly dir: string
  /** Removes the files that only the writing needed. */
  removeLocks(): void
  /** Removes the note: the folder has become the target, or is removed. */
  removeNote(): void
}

/**
 * Creates the folder beside the target, and a note among the stores that names it. Removes what
 * killed backups left in the target's parent folder.
 */
export const openDraft = (target: string, stores: string): Draft => {
  const dir = join(dirname(target), `.${basename(target)}.unfinished`)
  for (const name of readdirSync(dirname(target))) {
    const other = join(dirname(target), name)
    if (other !== dir) removeAbandoned(other)
  }
  const note = join(stores, `backup-${process.pid}.draft`)
  try {
    writeFileSync(note, `${dir}\n`)
  } catch {
    // A full disk of the stores must not prevent a backup to another disk.
  }
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (!lockFile(join(dir, OWNER_LOCK))) {
    rmSync(note, { force: true })
    throw new Error(`another process is writing a backup to ${target}`)
  }
  // This process holds the lock, so other notes of the folder are of killed processes.
  for (const other of notesOf(stores, dir)) if (other !== note) rmSync(other, { force: true })
  for (const name of [DATA_FILE, LOCK_FILE, LABEL_FILE]) rmSync(join(dir, name), { force: true })
  return {
    dir,
    removeLocks: () => {
      for (const name of [LOCK_FILE, OWNER_LOCK]) rmSync(join(dir, name), { force: true })
    },
    removeNote: () => rmSync(note, { force: true }),
  }
}

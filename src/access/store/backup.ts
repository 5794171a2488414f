import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as v from 'valibot'
import { lockFile } from '../../native/os.js'
import { syncPath } from '../../shared/files/atomic-file.js'
import { DATA_FILE, LABEL_FILE, LOCK_FILE, openDraft } from '../../storage/backup-draft.js'
import { sha256OfFile } from '../../storage/checksum.js'
import { demandDiskSpace } from '../../storage/disk-space.js'
import { removeOnExit } from '../../storage/remove-on-exit.js'
import type { Options } from './options.js'
import { openReader, openReaderAt, storePath } from './store.js'

/** File beside the copy: what it is, its bytes, and the key that unseals its tokens. */
const label = v.object({
  kind: v.literal('access'),
  /** Fingerprint of the sealing key, which is not in the backup; null before there is one. */
  sealingKeyId: v.nullable(v.string()),
  accesses: v.number(),
  bytes: v.number(),
  /** Of the copy, in hexadecimal. */
  sha256: v.string(),
})
export type AccessBackupLabel = Readonly<v.InferOutput<typeof label>>

/** Folder of a restored store until it is complete. */
const RESTORE_DRAFT = 'access.unfinished'

const readLabel = (dir: string): AccessBackupLabel => {
  let found: unknown
  try {
    found = JSON.parse(readFileSync(join(dir, LABEL_FILE), 'utf8'))
  } catch {
    // A missing or foreign file: the same error as for a label of another shape.
  }
  const result = v.safeParse(label, found)
  if (result.success && existsSync(join(dir, DATA_FILE))) return result.output
  throw new Error(`${dir} contains no backup of the access store`)
}

/** Reads every access of a copy, whose shape is checked, and the index of its tokens. */
const countAccesses = async (dir: string, options: Options): Promise<number> => {
  const store = await openReaderAt(dir, options)
  try {
    let accesses = 0
    for (const [accessId, { tokens }] of store.accesses.from('')) {
      accesses += 1
      for (const { digest } of tokens)
        if (store.digests.get(digest)?.accessId !== accessId)
          throw new Error('the copy is not of one commit: a token is not in its index')
    }
    return accesses
  } finally {
    await store.close()
  }
}

type BackupOptions = {
  readonly dataDir: string
  readonly storeOptions: Options
  readonly diskReserveBytes: number
}

/**
 * Writes a compacted copy of the access store, as of one commit, while control runs. `target`
 * appears complete or not at all. The sealing key is not in it.
 */
export const backUpAccess = async (
  target: string,
  {
    dataDir,
    storeOptions,
    diskReserveBytes,
    readKeyId,
  }: BackupOptions & { readonly readKeyId: () => string | undefined },
): Promise<AccessBackupLabel> => {
  if (existsSync(target)) throw new Error(`${target} exists: name a folder that does not`)
  const parent = dirname(target)
  if (!existsSync(parent)) throw new Error(`${parent} does not exist`)
  const sealingKeyId = readKeyId()
  const store = await openReader(dataDir, storeOptions)
  demandDiskSpace(parent, store.stats().usedBytes, diskReserveBytes)
  const draft = openDraft(target, dataDir)
  const { keep } = removeOnExit(draft.dir)
  process.once('exit', draft.removeNote)
  await store.copyTo(draft.dir)
  await store.close()
  if (readKeyId() !== sealingKeyId)
    throw new Error('the sealing key was replaced meanwhile: repeat the backup')

  const file = join(draft.dir, DATA_FILE)
  const accesses = await countAccesses(draft.dir, storeOptions)
  const { size: bytes } = statSync(file)
  const made = {
    kind: 'access',
    sealingKeyId: sealingKeyId ?? null,
    accesses,
    bytes,
    sha256: await sha256OfFile(file, () => {}),
  } as const
  writeFileSync(join(draft.dir, LABEL_FILE), `${JSON.stringify(made)}\n`)
  draft.removeLocks()
  for (const path of [file, join(draft.dir, LABEL_FILE), draft.dir]) syncPath(path)
  renameSync(draft.dir, target)
  keep()
  syncPath(parent)
  return made
}

/** Copies the backup into `draft` and checks the copy: its bytes, then its rows. */
const copyBackup = async (
  source: string,
  draft: string,
  { bytes, sha256, accesses }: AccessBackupLabel,
  options: Options,
): Promise<void> => {
  const { size } = statSync(join(source, DATA_FILE))
  if (size !== bytes)
    throw new Error(`${source} is damaged: it has ${size} bytes in place of ${bytes}`)
  const file = join(draft, DATA_FILE)
  await copyFile(join(source, DATA_FILE), file)
  const found = await sha256OfFile(file, () => {})
  if (found !== sha256)
    throw new Error(`${source} is damaged: its SHA-256 is ${found} in place of ${sha256}`)
  if ((await countAccesses(draft, options)) !== accesses)
    throw new Error(`${source} is damaged: it has not ${accesses} accesses`)
}

/**
 * Puts a backup in the place of the access store while no service runs on the data directory.
 * `demandKey` throws if the sealing key of this fingerprint is not at hand.
 */
export const restoreAccess = async (
  source: string,
  {
    dataDir,
    storeOptions,
    diskReserveBytes,
    demandKey,
  }: BackupOptions & { readonly demandKey: (sealingKeyId: string) => void },
): Promise<AccessBackupLabel> => {
  const label = readLabel(source)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (!['supervisor.lock', 'control.lock'].every(name => lockFile(join(dataDir, name))))
    throw new Error(`a Slotline runs on ${dataDir}: stop it, then restore`)
  if (label.sealingKeyId !== null) demandKey(label.sealingKeyId)

  const draft = join(dataDir, RESTORE_DRAFT)
  rmSync(draft, { recursive: true, force: true })
  demandDiskSpace(dataDir, label.bytes, diskReserveBytes)
  mkdirSync(draft, { mode: 0o700 })
  removeOnExit(draft)
  await copyBackup(source, draft, label, storeOptions)
  const [file, store] = [join(draft, DATA_FILE), storePath(dataDir)]
  mkdirSync(store, { recursive: true, mode: 0o700 })
  syncPath(file)
  // One file, so that a kill leaves the old store or the new one.
  renameSync(file, join(store, DATA_FILE))
  rmSync(join(store, LOCK_FILE), { force: true })
  for (const path of [store, dataDir]) syncPath(path)
  return label
}

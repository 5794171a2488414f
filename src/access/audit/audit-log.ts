import {
  appendFileSync,
  closeSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditAction, AuditOutcome } from './actions.js'
import type { Options } from './options.js'

/** One entry. It has no secret: a token is named by its scope. */
export type AuditEntry = {
  readonly atMs: number
  readonly action: AuditAction
  /** `sub` of the person at the identity provider; null is the holder of a token or key. */
  readonly by: string | null
  /** Id of the API key; absent of others. */
  readonly apiKey?: string
  /** Name of the admin token; absent if a person or the service did it. */
  readonly admin?: string
  /** Address of the peer, a proxy where one is in front; the signal or command of a reload. */
  readonly from: string
  readonly accessId?: string
  readonly network?: string
  readonly location?: string
  /** What was asked for: the new end, the address of a restriction, the granted product. */
  readonly request?: unknown
  /**
   * Absent: in effect, or when that will be was answered. `notConfirmed`: stored, and a machine may
   * not have known of it yet. `changeUnknown`: stored or not, because the answer of etcd was lost.
   */
  readonly outcome?: AuditOutcome
}

/** Which entries are read. */
export type AuditQuery = {
  readonly by?: string | undefined
  readonly accessId?: string | undefined
  readonly beforeMs: number
  readonly limit: number
}

/** Who did what, when and from where, on disk. */
export type AuditLog = {
  /** Adds an entry, on disk when this returns. */
  record(entry: Omit<AuditEntry, 'atMs'>): void
  /** The newest entries that match, newest first. */
  read(query: AuditQuery): Promise<readonly AuditEntry[]>
}

const DAY_MS = 86_400_000
/** Read at once: to look through it, and to parse each entry of it, takes some milliseconds. */
const PIECE_BYTES = 128 * 1024
const NAME = /^(\d{13})\.jsonl$/

type File = { readonly path: string; readonly firstMs: number }

const parseLine = (line: string): AuditEntry | undefined => {
  try {
    return JSON.parse(line) as AuditEntry
  } catch {
    // The last line, where the machine stopped while it was written.
    return undefined
  }
}

const TIME_KEY = '{"atMs":'

/** When an entry was written, without its other parts; NaN of what is none. */
const timeOf = (line: string): number =>
  line.startsWith(TIME_KEY)
    ? Number.parseInt(line.slice(TIME_KEY.length, TIME_KEY.length + 16), 10)
    : Number.NaN

/** The entry of a line, if it matches. */
const createTake = ({ accessId, beforeMs, by }: AuditQuery) => {
  // A line that matches has these texts. Of a full log of 64 MiB most need not be parsed.
  const texts = [by, accessId].flatMap(one => (one === undefined ? [] : [JSON.stringify(one)]))
  return (line: string): AuditEntry | undefined => {
    if (!texts.every(text => line.includes(text)) || timeOf(line) >= beforeMs) return undefined
    const entry = parseLine(line)
    if (entry === undefined || entry.atMs >= beforeMs) return undefined
    if (by !== undefined && entry.by !== by) return undefined
    return accessId === undefined || entry.accessId === accessId ? entry : undefined
  }
}

const openFile = async (path: string): Promise<FileHandle | undefined> => {
  try {
    return await open(path)
  } catch (error) {
    // Removed for a further file, since they were listed.
    if (Object(error).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * The lines of a file from its end on, last one first, in pieces of `PIECE_BYTES`. Between two of
 * them other events have their turn.
 */
async function* readLines(path: string): AsyncGenerator<readonly string[]> {
  const file = await openFile(path)
  if (file === undefined) return
  try {
    let { size: end } = await file.stat()
    // The end of a line that begins in an earlier piece.
    let rest: readonly Buffer[] = []
    while (end > 0) {
      const bytes = Math.min(PIECE_BYTES, end)
      end -= bytes
      const piece = Buffer.alloc(bytes)
      const { bytesRead } = await file.read(piece, 0, bytes, end)
      const first = end === 0 ? -1 : piece.indexOf('\n')
      if (first === -1 && end > 0) {
        rest = [piece.subarray(0, bytesRead), ...rest]
        continue
      }
      const whole = Buffer.concat([piece.subarray(first + 1, bytesRead), ...rest])
      rest = [piece.subarray(0, Math.max(first, 0))]
      yield whole.toString().split('\n').toReversed()
    }
  } finally {
    await file.close()
  }
}

/**
 * Opens the audit log of a data directory: files of JSON lines that are only added to, each named
 * by the time of its first entry. Control is the only writer.
 */
export const openAuditLog = (
  dataDir: string,
  { fileBytesMax, filesMax, keptDaysMax }: Options,
  now: () => number,
): AuditLog => {
  const dir = join(dataDir, 'audit')
  mkdirSync(dir, { recursive: true, mode: 0o700 })

  let lastMs = 0

  const listFiles = (): File[] =>
    readdirSync(dir)
      .flatMap(name => {
        const [, firstMs] = NAME.exec(name) ?? []
        return firstMs === undefined ? [] : [{ path: join(dir, name), firstMs: Number(firstMs) }]
      })
      .toSorted((one, other) => one.firstMs - other.firstMs)

  /** A file is as old as its last entry, which is older than the first one of the next file. */
  const removeOld = (files: readonly File[]): void => {
    const oldestMs = now() - keptDaysMax * DAY_MS
    for (const [index, { path }] of files.entries()) {
      const next = files[index + 1]
      const isOld = next !== undefined && next.firstMs < oldestMs
      if (isOld || index < files.length - filesMax) rmSync(path)
    }
  }

  const currentFile = (bytes: number, atMs: number): string => {
    const files = listFiles()
    const last = files.at(-1)
    if (last !== undefined && statSync(last.path).size + bytes <= fileBytesMax) return last.path
    // Later than the last one, even if the clock was set back.
    const firstMs = Math.max(atMs, (last?.firstMs ?? 0) + 1)
    const path = join(dir, `${String(firstMs).padStart(13, '0')}.jsonl`)
    removeOld([...files, { path, firstMs }])
    return path
  }

  const append = (path: string, line: string): void => {
    const file = openSync(path, 'a', 0o600)
    try {
      appendFileSync(file, line)
      fdatasyncSync(file)
    } finally {
      closeSync(file)
    }
  }

  return {
    record: entry => {
      // Each has a time of its own: pages begin before one.
      const atMs = Math.max(now(), lastMs + 1)
      lastMs = atMs
      // A line break first: a full disk may have truncated the line before it.
      const line = `\n${JSON.stringify({ atMs, ...entry })}`
      append(currentFile(Buffer.byteLength(line), atMs), line)
    },
    read: async query => {
      const found: AuditEntry[] = []
      const take = createTake(query)
      for (const { path, firstMs } of listFiles().toReversed()) {
        if (firstMs >= query.beforeMs) continue
        for await (const lines of readLines(path))
          for (const line of lines) {
            const entry = take(line)
            if (entry !== undefined) found.push(entry)
            if (found.length === query.limit) return found
          }
      }
      return found
    },
  }
}

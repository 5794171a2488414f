import { join } from 'node:path'
import { defaults, type Options } from './options.js'
import { START, type ChangePage, type Position } from './event-log.js'
import { createRowTest, isWanted, type SubmissionPage, type SubmissionFilter } from './search.js'
import { openTablesToRead, type SubmissionTables } from './submission-tables.js'
import type { StoredSubmission, Submission } from './submission.js'

/** Where a search begins, and how many submissions it finds at most. */
export type SearchStart = {
  readonly before: Uint8Array | undefined
  /** It ends before this id. */
  readonly from?: Uint8Array | undefined
  readonly countMax: number
  /** How long it searches. */
  readonly limitMs: number
  /** Submissions that are looked at in one turn of the event loop. */
  readonly visitMax?: number
  /** Unix milliseconds. */
  readonly now: () => number
}

/** Folder of the sender in a data directory. */
export const senderPath = (dataDir: string): string => join(dataDir, 'sender')

/** The submission store of a data directory, to read. It is opened on first use. */
export class StoreReader {
  private readonly dataDir: string
  private readonly options: Options
  private opened: SubmissionTables | undefined
  private isClosed = false

  constructor(dataDir: string, options: Options = defaults) {
    this.dataDir = dataDir
    this.options = options
  }

  /** A submission as it is stored. */
  get(id: Uint8Array): Submission | undefined {
    return this.open()?.get(id)
  }

  /**
   * The newest submissions before `before` that are wanted. Searches for up to `limitMs`; other
   * work of the process runs in between.
   */
  async search(
    query: SubmissionFilter,
    { before, countMax, from, limitMs, now, visitMax = this.options.recentMax }: SearchStart,
  ): Promise<SubmissionPage> {
    const { awaitedMs } = this.options
    const isRow = createRowTest(query)
    const isFound = (submission: Submission): boolean =>
      isWanted(submission, query, { nowMs: now(), awaitedMs })
    const endMs = performance.now() + limitMs
    const found: StoredSubmission[] = []
    let next = before
    for (;;) {
      const bounds = { before: next, from, countMax: countMax - found.length, visitMax }
      const page = this.open()?.search(query.accessId, { isRow, isFound }, bounds)
      found.push(...(page?.found ?? []))
      next = page?.next
      const isFull = found.length === countMax
      if (next === undefined || isFull || performance.now() >= endMs) return { found, next }
      await new Promise(setImmediate)
    }
  }

  /** The newest submission of an access with this signature. */
  findSigned(accessId: string, signature: string): StoredSubmission | undefined {
    return this.open()?.findSigned(accessId, signature)
  }

  /** What submissions of an access have come to since a position. */
  changes(accessId: string, from: Position, countMax: number): ChangePage | undefined {
    return this.open()?.changes(accessId, from, countMax)
  }

  /** The position after the newest event of an access. */
  lastPosition(accessId: string): Position {
    return this.open()?.lastPosition(accessId) ?? START
  }

  async close(): Promise<void> {
    this.isClosed = true
    await this.opened?.close()
    this.opened = undefined
  }

  private open(): SubmissionTables | undefined {
    if (!this.isClosed) this.opened ??= openTablesToRead(senderPath(this.dataDir), this.options)
    return this.opened
  }
}

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defaults, type Options } from './options.js'
import {
  createRowTest,
  isWanted,
  mergePages,
  type SubmissionPage,
  type SubmissionFilter,
} from './search.js'
import { openTablesToRead, type SubmissionTables } from './submission-tables.js'
import type { StoredSubmission, Submission } from './submission.js'

/** Where a search begins, and how many submissions it finds at most. */
export type SearchStart = {
  readonly before: Uint8Array | undefined
  readonly countMax: number
  /** How long it searches. */
  readonly limitMs: number
  /** Unix milliseconds. */
  readonly now: () => number
}

/** Folder of one edge in a data directory. */
export const edgePath = (dataDir: string, edge: number): string =>
  join(dataDir, 'edges', String(edge))

/** The submission stores of all edges of a data directory, to read. Each is opened on first use. */
export class StoreReaders {
  private readonly dataDir: string
  private readonly ownEdge: number | undefined
  private readonly options: Options
  private readonly opened = new Map<number, SubmissionTables>()
  private isClosed = false

  /** `ownEdge` is the edge that reads, if any. */
  constructor(dataDir: string, ownEdge: number | undefined, options: Options = defaults) {
    this.dataDir = dataDir
    this.ownEdge = ownEdge
    this.options = options
  }

  /** A submission as an edge has stored it. */
  get(edge: number, id: Uint8Array): Submission | undefined {
    return this.open(edge)?.get(id)
  }

  /** A submission as any other edge has stored it. */
  find(id: Uint8Array): Submission | undefined {
    for (const edge of this.edges()) {
      const found = edge === this.ownEdge ? undefined : this.get(edge, id)
      if (found !== undefined) return found
    }
    return undefined
  }

  /**
   * The newest submissions before `before` that are wanted. Searches for up to `limitMs`; other
   * work of the process runs in between.
   */
  async search(
    query: SubmissionFilter,
    { before, countMax, limitMs, now }: SearchStart,
  ): Promise<SubmissionPage> {
    const { awaitedMs, recentMax: visitMax } = this.options
    const isRow = createRowTest(query)
    const isFound = (submission: Submission): boolean =>
      isWanted(submission, query, { nowMs: now(), awaitedMs })
    const endMs = performance.now() + limitMs
    const found: StoredSubmission[] = []
    let next = before
    for (;;) {
      const bounds = { before: next, countMax: countMax - found.length, visitMax }
      const pages = this.edges().flatMap(
        edge => this.open(edge)?.search(isRow, isFound, bounds) ?? [],
      )
      const page = mergePages(pages, bounds.countMax)
      found.push(...page.found)
      next = page.next
      const isFull = found.length === countMax
      if (next === undefined || isFull || performance.now() >= endMs) return { found, next }
      await new Promise(setImmediate)
    }
  }

  async close(): Promise<void> {
    this.isClosed = true
    const opened = [...this.opened.values()]
    this.opened.clear()
    for (const tables of opened) await tables.close()
  }

  private open(edge: number): SubmissionTables | undefined {
    const known = this.opened.get(edge)
    if (known !== undefined || this.isClosed) return known
    const tables = openTablesToRead(edgePath(this.dataDir, edge), this.options)
    if (tables !== undefined) this.opened.set(edge, tables)
    return tables
  }

  private edges(): readonly number[] {
    const path = join(this.dataDir, 'edges')
    const names = existsSync(path) ? readdirSync(path) : []
    return names.filter(name => /^\d+$/.test(name)).map(Number)
  }
}

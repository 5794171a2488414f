import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { defaults, type Options } from './options.js'
import type { Submission } from './submission.js'
import {
  openTablesToRead,
  type StoredSubmission,
  type SubmissionTables,
} from './submission-tables.js'

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

  /** The newest submissions of an access, newest first, among the last `recentMax` per edge. */
  recent(accessId: string, countMax: number): readonly StoredSubmission[] {
    const bounds = { countMax, visitMax: this.options.recentMax }
    return this.edges()
      .flatMap(edge => this.open(edge)?.recent(accessId, bounds) ?? [])
      .sort((a, b) => Buffer.compare(b.id, a.id))
      .slice(0, countMax)
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

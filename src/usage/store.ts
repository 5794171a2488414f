import { closeSync, openSync } from 'node:fs'
import { openReader, openRecorder, type UsageRecorder } from '../native/usage/store.js'
import { defaults, type Options } from './options.js'
import {
  accessesOf,
  QUESTIONS,
  ROWS_MAX,
  type Parameter,
  type QuestionName,
  type RowOf,
} from './queries.js'
import {
  ADD_ENDS,
  ADD_PEAKS,
  FORGET_ENDS,
  METHODS_TO_HOURS,
  REMOVE_OLD,
  SCHEMA,
  TO_HOURS,
  type LaneFigure,
} from './schema.js'
import { DAY_MS, dayOf, edgesPath, HOUR_MS, storePath } from './scope.js'

/** What was done with each method, and submissions, are kept by minute for this long. */
const MINUTES_MS = DAY_MS + HOUR_MS
/** The first minute of an hour. */
const hourMinute = (atMs: number): number => Math.floor(atMs / HOUR_MS) * 60
/** Longest time of one query. */
const QUERY_MS = 10_000

const pathsOf = (dataDir: string) => ({ store: storePath(dataDir), edges: edgesPath(dataDir) })

/** Answers questions on what this machine has counted, up to this moment. */
export type AskOwn = <Q extends QuestionName>(
  name: Q,
  parameters: readonly Parameter[],
) => Promise<readonly RowOf<Q>[]>

/** Opens what this machine has counted. It may run while the service is stopped, too. */
export const openUsageReader = (dataDir: string): AskOwn => {
  const query = openReader(pathsOf(dataDir), SCHEMA)
  return async <Q extends QuestionName>(name: Q, parameters: readonly Parameter[]) => {
    const { sql = '' } = QUESTIONS[name] as { readonly sql?: string }
    const accesses = accessesOf(name, parameters)
    // What edges have counted since is read only where it is asked for.
    const isLive = sql.includes('temp.')
    const bounds = { limitMs: QUERY_MS, rowsMax: ROWS_MAX, isLive }
    return (await query({ sql, parameters, accesses, ...bounds })) as readonly RowOf<Q>[]
  }
}

/** The highest rate of an access in a quarter-hour. */
export type PeakRow = readonly [access: string, quarter: number, perSecond: number, atMs: number]

/** How one submission ended, in the order of `ADD_ENDS`. */
export type EndRow = readonly [
  id: string,
  access: string,
  network: string,
  location: string,
  route: string,
  lane: string,
  minute: number,
  tipBand: number,
  tipLamports: number,
  figure: LaneFigure,
  slots: string,
  delays: string,
]

/** Writes the store: control what edges have counted, the sender how submissions ended. */
export class UsageWriter {
  readonly #native: UsageRecorder
  readonly #options: Options

  constructor(dataDir: string, options: Options = defaults) {
    // Of the user alone, as all of the data: SQLite makes its other files alike.
    closeSync(openSync(storePath(dataDir), 'a', 0o600))
    this.#native = openRecorder(pathsOf(dataDir), SCHEMA)
    this.#options = options
  }

  /** Adds what edges have closed. */
  async record(): Promise<void> {
    await this.#native.record()
  }

  async addPeaks(rows: readonly PeakRow[]): Promise<void> {
    if (rows.length > 0) await this.#native.run([ADD_PEAKS], [JSON.stringify(rows)])
  }

  /** Counts submissions, those that were counted before not again until `forgetEnds`. */
  async addEnds(rows: readonly EndRow[], nowMs = Date.now()): Promise<void> {
    await this.#native.run(ADD_ENDS, [JSON.stringify(rows), hourMinute(nowMs - MINUTES_MS)])
  }

  async forgetEnds(): Promise<void> {
    await this.#native.run(FORGET_ENDS, [])
  }

  /**
   * Removes what is older than is kept. Of too many bytes the oldest minutes are reduced to their
   * hours first, a day at a time; then the oldest days are removed.
   */
  async prune(nowMs: number): Promise<void> {
    const { bytesMax, historyDaysMax, keptDaysMax } = this.#options
    const today = dayOf(nowMs)
    const remove = (days: number): Promise<number> =>
      this.#native.run(REMOVE_OLD, [today - Math.min(days, historyDaysMax), today - days + 1])
    const reduceMethods = (beforeMs: number): Promise<number> =>
      this.#native.run(METHODS_TO_HOURS, [hourMinute(beforeMs)])
    await reduceMethods(nowMs - MINUTES_MS)
    let bytes = await remove(keptDaysMax)
    if (bytes > bytesMax) bytes = await reduceMethods(nowMs)
    for (let days = historyDaysMax; bytes > bytesMax && days >= 1; days--)
      bytes = await this.#native.run(TO_HOURS, [((today - days + 1) * DAY_MS) / 60_000])
    for (let days = keptDaysMax; bytes > bytesMax && days >= 1; days--) bytes = await remove(days)
  }
}

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  listDays,
  readHead,
  readDayPart,
  readWholeDay,
  rowsOf,
  type DayRow,
  type RowsByDay,
} from './days.js'
import { daysPath, usagePath } from './layout.js'
import { edgesOf } from './reader.js'

const namesIn = (dir: string): readonly string[] => {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

/** The days that one edge has not written yet, from the files that it counts in. */
const readOpenDays = async (dataDir: string, edge: number): Promise<RowsByDay> => {
  const days = new Map<number, DayRow[]>()
  const dir = usagePath(dataDir, edge)
  for (const name of namesIn(dir)) {
    // Where it has been removed since, its counts are in the part of its day, which is read later.
    for (const [day, rows] of rowsOf(name, await readHead(join(dir, name))))
      days.set(day, [...(days.get(day) ?? []), ...rows])
  }
  return days
}

const keyOf = ({ accessId, network, location, method }: DayRow): string =>
  [accessId, network, location, method].join('\0')

/** One row for each access, network, location and method, in this order. */
export const sumUp = (rows: readonly DayRow[]): readonly DayRow[] => {
  const sums = new Map<string, DayRow>()
  for (const row of rows) {
    const key = keyOf(row)
    const { requests = 0, errors = 0, rateLimited = 0 } = sums.get(key) ?? {}
    sums.set(key, {
      ...row,
      requests: requests + row.requests,
      errors: errors + row.errors,
      rateLimited: rateLimited + row.rateLimited,
    })
  }
  const byKey = [...sums].toSorted(([one], [other]) => (one < other ? -1 : Number(one > other)))
  return byKey.map(([, row]) => row)
}

/** What is read: days since 1970 up to but not including the second, of one access or all. */
export type DayQuery = {
  readonly from: number
  readonly until: number
  readonly accessId?: string | undefined
}

/** One day, as all edges of this machine have counted it. */
export type UsageDay = { readonly day: number; readonly rows: readonly DayRow[] }

/** Days that are read one after the other. */
export type UsageDays = {
  readonly days: AsyncIterable<UsageDay>
  /** Machines whose counts lack in what was read; absent on a machine by itself. */
  missing?(): readonly string[]
}

type EdgeDays = { readonly dir: string; readonly open: RowsByDay }

const openEdges = async (dataDir: string): Promise<readonly EdgeDays[]> => {
  const edges: EdgeDays[] = []
  for (const edge of edgesOf(dataDir))
    edges.push({ dir: daysPath(dataDir, edge), open: await readOpenDays(dataDir, edge) })
  return edges
}

const daysOf = (edges: readonly EdgeDays[]): readonly number[] => {
  const days = new Set(edges.flatMap(({ dir, open }) => [...listDays(dir), ...open.keys()]))
  return [...days].toSorted((one, other) => one - other)
}

/** The days since 1970 that have counts on this machine, in order. */
export const listUsageDays = async (dataDir: string): Promise<readonly number[]> =>
  daysOf(await openEdges(dataDir))

/** The days that have counts, the oldest first. One is read when it is taken. */
export async function* readDays(
  dataDir: string,
  { from, until, accessId }: DayQuery,
): AsyncGenerator<UsageDay> {
  const edges = await openEdges(dataDir)
  for (const day of daysOf(edges)) {
    if (day < from || day >= until) continue
    // Written since then, a day is complete there.
    const rows = edges.flatMap(
      ({ dir, open }) =>
        readWholeDay(dir, day) ?? (open.get(day) ?? []).concat(readDayPart(dir, day)),
    )
    const wanted = accessId === undefined ? rows : rows.filter(row => row.accessId === accessId)
    if (wanted.length > 0) yield { day, rows: sumUp(wanted) }
  }
}

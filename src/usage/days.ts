import type { MethodFigures } from './schema.js'
import { ROWS_MAX, type Parameter, type QuestionName, type RowOf } from './queries.js'
import type { TokenScope } from './scope.js'

/** What is read: days since 1970 up to but not including the second, of one access or all. */
export type DayQuery = {
  readonly from: number
  readonly until: number
  readonly accessId?: string | undefined
}

/** What the tokens of a scope did with one method on one day. */
export type DayRow = TokenScope & { readonly method: string } & MethodFigures

/** One day. */
export type UsageDay = { readonly day: number; readonly rows: readonly DayRow[] }

/** Days that are read one after the other. */
export type UsageDays = {
  readonly days: AsyncIterable<UsageDay>
  /** Machines whose counts lack in what was read; absent on a machine by itself. */
  missing?(): readonly string[]
}

/** What each machine answers to a question. */
export type AskEach = <Q extends QuestionName>(
  name: Q,
  parameters: readonly Parameter[],
) => Promise<readonly (readonly RowOf<Q>[])[]>

type Add = (answers: readonly (readonly DayRow[])[]) => readonly DayRow[]

/** As SQL compares them. */
const isAfter = (one: DayRow, other: DayRow): boolean => {
  const keyOf = ({ accessId, network, location, method }: DayRow): Buffer =>
    Buffer.from([accessId, network, location, method].join('\0'))
  return keyOf(one).compare(keyOf(other)) > 0
}

/** The rows of a day: pages of all machines, each up to where the first of them ended. */
const readRows = async (
  day: number,
  accessId: string | undefined,
  ask: AskEach,
  add: Add,
): Promise<readonly DayRow[]> => {
  const rows: DayRow[] = []
  let after = ['', '', '', '']
  for (;;) {
    const pages = await ask('dayRows', [day, accessId ?? '', ...after])
    const ends = pages.flatMap(page => (page.length < ROWS_MAX ? [] : (page.at(-1) ?? [])))
    const [end] = ends.toSorted((one, other) => (isAfter(one, other) ? 1 : -1))
    const isIn = (row: DayRow): boolean => end === undefined || !isAfter(row, end)
    rows.push(...add(pages.map(page => page.filter(isIn))))
    if (end === undefined) break
    after = [end.accessId, end.network, end.location, end.method]
  }
  return rows.toSorted((one, other) => (isAfter(one, other) ? 1 : -1))
}

/** The days that have counts, the oldest first. One is read when it is taken. */
export async function* readDays(
  { from, until, accessId }: DayQuery,
  ask: AskEach,
  add: Add,
): AsyncGenerator<UsageDay> {
  const ranges = (await ask('days', [])).flat().filter(({ first, last }) => first <= last)
  const first = Math.max(from, Math.min(...ranges.map(range => range.first)))
  const last = Math.min(until - 1, Math.max(...ranges.map(range => range.last)))
  for (let day = first; day <= last; day++) {
    const rows = await readRows(day, accessId, ask, add)
    if (rows.length > 0) yield { day, rows }
  }
}

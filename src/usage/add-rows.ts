/** How rows of several machines become one list. */
export type Rule = {
  /** Rows that are equal in these become one; absent: every row stays. */
  readonly by?: readonly string[]
  readonly sum?: readonly string[]
  readonly max?: readonly string[]
  /** Counts by a number, as JSON, each of which is added. */
  readonly counts?: readonly string[]
  /** The second is that of the row in which the first is highest. */
  readonly withMost?: readonly [highest: string, taken: string]
  readonly order?: string
  readonly isNewestFirst?: boolean
}

type Cell = string | number | null
type Row = Record<string, Cell>

/** Counts by a number, from the JSON of the store. */
export const parseCounts = (json: string): Readonly<Record<string, number>> =>
  JSON.parse(json) as Record<string, number>

const addCounts = (one: string, other: string): string => {
  const sums = new Map(Object.entries(parseCounts(one)))
  for (const [key, count] of Object.entries(parseCounts(other)))
    sums.set(key, (sums.get(key) ?? 0) + count)
  return JSON.stringify(Object.fromEntries(sums))
}

const add = (sum: Row & { most?: number }, row: Row, rule: Rule): void => {
  const { counts = [], max = [], sum: summed = [], withMost } = rule
  for (const key of max) sum[key] = Math.max(Number(sum[key]), Number(row[key]))
  for (const key of counts) sum[key] = addCounts(String(sum[key]), String(row[key]))
  if (withMost !== undefined) {
    const [highest, taken] = withMost
    const [most, value] = [sum.most ?? Number(sum[highest]), Number(row[highest])]
    if (value > most) sum[taken] = row[taken] ?? 0
    sum.most = Math.max(most, value)
  }
  for (const key of summed) sum[key] = Number(sum[key]) + Number(row[key])
}

const compare = (one: Cell = 0, other: Cell = 0): number =>
  (one ?? 0) < (other ?? 0) ? -1 : Number((one ?? 0) > (other ?? 0))

/** Adds up rows of several machines. */
export const addRows = (rows: readonly Row[], rule: Rule): readonly Row[] => {
  const { by, order, isNewestFirst = false } = rule
  const sums = new Map<string, Row>()
  for (const row of rows) {
    const key = by === undefined ? String(sums.size) : by.map(name => row[name]).join('\0')
    const sum = sums.get(key)
    if (sum === undefined) sums.set(key, { ...row })
    else add(sum, row, rule)
  }
  const all = [...sums.values()]
  for (const sum of all) delete sum['most']
  if (order === undefined) return all
  const sign = isNewestFirst ? -1 : 1
  return all.toSorted((one, other) => sign * compare(one[order], other[order]))
}

import {
  listUsageDays,
  readDays,
  sumUp,
  type DayQuery,
  type UsageDays,
} from '../access/usage/day-reader.js'
import type { DayRow } from '../access/usage/days.js'
import type { PeerRoute } from '../cluster/peers/peer-server.js'
import * as shapes from '../dashboard/api/shapes.js'
import type { ClusterPeers } from './cluster/cluster-peers.js'

/** Rows in one answer of a machine: less than 2 MB. */
const ROWS_MAX = 5_000
/** In place of an access. */
const ALL = 'all'
/** How long the rows of one day are kept for the next page of them. */
const PAGE_MS = 10_000

const LIST = '/usage/days'
const rowsPath = (day: number | string, accessId: string, from: number | string): string =>
  `${LIST}/${day}/accesses/${accessId}/rows/${from}`

const rowsOfDay = async (
  dataDir: string,
  day: number,
  accessId: string | undefined,
): Promise<readonly DayRow[]> => {
  const rows: DayRow[] = []
  for await (const found of readDays(dataDir, { from: day, until: day + 1, accessId }))
    rows.push(...found.rows)
  return rows
}

/** What other machines may read of the days that this one has counted. */
export const createDayRoutes = (dataDir: string, now: () => number): readonly PeerRoute[] => {
  let last: { readonly key: string; readonly rows: readonly DayRow[]; readonly atMs: number }
  const read = async (day: string, accessId: string): Promise<readonly DayRow[]> => {
    const key = `${day} ${accessId}`
    if (last?.key === key && now() - last.atMs < PAGE_MS) return last.rows
    const wanted = accessId === ALL ? undefined : accessId
    const rows = await rowsOfDay(dataDir, Number(day), wanted)
    last = { key, rows, atMs: now() }
    return rows
  }
  return [
    { path: LIST, answer: async () => ({ days: await listUsageDays(dataDir) }) },
    {
      path: rowsPath(':day', ':accessId', ':from'),
      answer: async ({ day = '', accessId = '', from = '' }) => {
        if (!/^\d{1,9}$/.test(day) || !/^\d{1,9}$/.test(from)) return undefined
        const rows = await read(day, accessId)
        const end = Number(from) + ROWS_MAX
        return { rows: rows.slice(Number(from), end), isLast: end >= rows.length }
      },
    },
  ]
}

type SumParts = {
  readonly dataDir: string
  readonly peers: Pick<ClusterPeers['client'], 'read'>
  /** Of all machines of the cluster. */
  readonly locations: readonly string[]
  /** Longest wait for each answer of a machine. */
  readonly limitMs: number
}

/** The days of all machines, added up. One that does not answer is named. */
export const sumUsageDays = ({ dataDir, peers, locations, limitMs }: SumParts) => {
  const readRows = async (
    day: number,
    accessId: string | undefined,
    // Not called again, so that one that does not answer is waited for once.
    missing: Set<string>,
  ): Promise<readonly DayRow[]> => {
    const rows: DayRow[] = []
    for (let from = 0; ; from += ROWS_MAX) {
      const path = rowsPath(day, accessId ?? ALL, from)
      const found = await peers.read(locations, path, shapes.usageDayRows, {
        limitMs,
        without: missing,
      })
      for (const id of found.missing) missing.add(id)
      for (const answer of found.answers) rows.push(...answer.rows)
      if (found.answers.every(({ isLast }) => isLast)) return rows
    }
  }
  return ({ from, until, accessId }: DayQuery): UsageDays => {
    const missing = new Set<string>()
    const read = async function* () {
      const listed = await peers.read(locations, LIST, shapes.usageDayList, { limitMs })
      for (const id of listed.missing) missing.add(id)
      const own = await listUsageDays(dataDir)
      const days = new Set([...own, ...listed.answers.flatMap(({ days: of }) => of)])
      for (const day of [...days].toSorted((one, other) => one - other)) {
        if (day < from || day >= until) continue
        const others = await readRows(day, accessId, missing)
        const rows = sumUp([...(await rowsOfDay(dataDir, day, accessId)), ...others])
        if (rows.length > 0) yield { day, rows }
      }
    }
    return { days: read(), missing: () => [...missing].toSorted() }
  }
}

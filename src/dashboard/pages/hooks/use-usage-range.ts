import { useQuery } from '../lib/route.js'
import { customPeriod } from '../lib/usage/usage-format.js'
import {
  bucketMs,
  isRange,
  KEPT_MS,
  rangeMs,
  RANGES,
  windowOf,
  type Period,
  type RangeId,
} from '../lib/usage/usage-series.js'
import type { RangeUsage } from '../lib/wire.js'
import { useServices } from './context.js'
import { useLoaded, type Loaded } from './use-loaded.js'

const DAY_MS = rangeMs(RANGES.day)
/** How often the usage is loaded again. */
const REFRESH_MS = 10_000

/** The names of its times in the query of a URL. */
const TIMES = ['range', 'end', 'from', 'until'] as const

/** The times of a view as the API takes them: without an end it takes that of its own clock. */
export const timesOf = (view: Period): Readonly<Record<string, string>> => {
  const { end, id, range } = view
  if (end === undefined) return { span: String(rangeMs(range)) }
  const { fromMs, untilMs } = windowOf(view, end)
  return id === undefined
    ? { from: String(fromMs), until: String(untilMs) }
    : { span: String(rangeMs(range)), until: String(untilMs) }
}

/** The same with the length of its periods, at which it begins and ends. */
export const stepsOf = (view: Period): Readonly<Record<string, string>> => ({
  ...timesOf(view),
  step: String(bucketMs(view.range)),
})

const toInstant = (text = ''): number | undefined =>
  /^\d{1,15}$/.test(text) ? Number(text) : undefined

/** The view of the query of a URL; this range until now where it names none. */
const toView = (query: Readonly<Record<string, string>>, usual: RangeId): Period => {
  const [from, until] = [toInstant(query['from']), toInstant(query['until'])]
  // No longer than what is kept in days of UTC, so that it has few columns.
  const lengthMs = (until ?? 0) - (from ?? 0)
  if (from !== undefined && until !== undefined && lengthMs > 0 && lengthMs <= KEPT_MS + DAY_MS)
    return customPeriod(from, until)
  const { range = '' } = query
  const id = isRange(range) ? range : usual
  return { id, range: RANGES[id], end: toInstant(query['end']) }
}

/** What a query of a URL has of these times. */
export const pickTimes = (query: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    TIMES.flatMap(name => (query[name] === undefined ? [] : [[name, query[name]] as const])),
  )

const toQuery = (view: Period, usual: RangeId): Readonly<Record<string, string>> => {
  const { end, id } = view
  if (id === undefined && end !== undefined) {
    const { fromMs, untilMs } = windowOf(view, end)
    return { from: String(fromMs), until: String(untilMs) }
  }
  return {
    ...(id !== undefined && id !== usual && { range: id }),
    ...(end !== undefined && { end: String(end) }),
  }
}

/** The view in the URL, and a function that changes it. */
export const useUsageView = (
  usual: RangeId = 'hour',
): readonly [Period, (view: Period) => void] => {
  const [query, setQuery] = useQuery()
  const setView = (view: Period): void => {
    const others = Object.entries(query).filter(([name]) => !TIMES.some(time => time === name))
    setQuery({ ...Object.fromEntries(others), ...toQuery(view, usual) })
  }
  return [toView(query, usual), setView]
}

/** What is counted: `read` asks for it, and another name is that of something else. */
export type UsageSource<U extends RangeUsage> = {
  readonly name: string
  readonly read: (query: Readonly<Record<string, string>>) => Promise<U>
}

/** The view in the URL, a function that changes it, and the usage in it, with one request. */
export const useUsageRange = <U extends RangeUsage>({
  name,
  read,
}: UsageSource<U>): {
  readonly view: Period
  readonly setView: (view: Period) => void
  readonly usage: Loaded<U>
} => {
  const [view, setView] = useUsageView()
  const load = (): Promise<U> => read(stepsOf(view))
  const key = JSON.stringify([name, view])
  return { view, setView, usage: useLoaded(key, load, REFRESH_MS) }
}

/** One network at one location of an access, or with empty texts all of it. */
export const useAccessSource = (
  accessId: string,
  network = '',
  location = '',
): UsageSource<RangeUsage> => {
  const { api } = useServices()
  return {
    name: JSON.stringify([accessId, network, location]),
    read: times => api.usageRange(accessId, { ...times, network, location }),
  }
}

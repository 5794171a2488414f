import { mergeFailures } from '../access/usage/failure-log.js'
import { sumMethods } from '../access/usage/method-days.js'
import { mergeClients, mergeReplaced } from '../access/usage/reader.js'
import * as limitShapes from '../dashboard/api/limit-shapes.js'
import * as shapes from '../dashboard/api/shapes.js'
import * as usageShapes from '../dashboard/api/usage/shapes.js'
import type {
  AccessUsage,
  Peak,
  PeriodUsage,
  PlaceUsage,
  Usage,
  UsageMinute,
} from '../dashboard/api/usage.js'
import { mapLimits } from '../shared/access-limits.js'
import type { ClusterPeers } from './cluster/cluster-peers.js'
import {
  submissionPage,
  type SubmissionPageView,
  type Submissions,
} from '../dashboard/api/submissions/shapes.js'
import {
  accessUsagePath,
  failuresPath,
  methodsPath,
  periodsPath,
  placeUsagePath,
  searchPath,
} from './peer-routes.js'

type Read = Pick<ClusterPeers['client'], 'read'>

/** Refused attempts of one answer. */
const REFUSED_MAX = 64

/** Minutes are those of this machine; clocks of machines may differ by a minute or more. */
const addUp = (own: PlaceUsage, others: readonly PlaceUsage[]): PlaceUsage => {
  const minutes = new Map(own.minutes.map(minute => [minute.startMs, { ...minute }]))
  for (const minute of others.flatMap(other => other.minutes)) {
    const sum = minutes.get(minute.startMs)
    if (sum === undefined) continue
    sum.requests += minute.requests
    sum.errors += minute.errors
    sum.rateLimited += minute.rateLimited
    sum.refused += minute.refused
  }
  const refused = [own, ...others].flatMap(one => one.refused)
  return {
    minutes: [...minutes.values()],
    refused: refused.toSorted((one, other) => other.atMs - one.atMs).slice(0, REFUSED_MAX),
    clients: mergeClients([own, ...others].flatMap(one => one.clients)),
    replaced: mergeReplaced([own, ...others].flatMap(one => one.replaced)),
  }
}

const addPeriods = (all: readonly PeriodUsage[]): PeriodUsage => {
  const sums = new Map<number, UsageMinute>()
  for (const one of all.flatMap(({ periods }) => periods)) {
    const { requests = 0, errors = 0, rateLimited = 0, refused = 0 } = sums.get(one.startMs) ?? {}
    sums.set(one.startMs, {
      startMs: one.startMs,
      requests: requests + one.requests,
      errors: errors + one.errors,
      rateLimited: rateLimited + one.rateLimited,
      refused: refused + one.refused,
    })
  }
  return {
    periods: [...sums.values()].toSorted((one, other) => one.startMs - other.startMs),
    minutesFromMs: Math.max(...all.map(one => one.minutesFromMs)),
  }
}

/** Counts that are added up. */
type Summed = Exclude<keyof AccessUsage, 'subscriptionsOfSocket' | 'means' | 'peaks' | 'refused'>

/** Of each machine with one decimal. */
const toDecimal = (sum: number): number => Math.round(sum * 10) / 10

const sumOf = (all: readonly AccessUsage[], key: Summed): number =>
  toDecimal(all.reduce((sum, one) => sum + one[key], 0))

/**
 * Machines may have their peaks in different seconds of a quarter-hour: the sum is not less than
 * the peak of all of them. Its time is that of the machine with the highest one.
 */
const addPeaks = (all: readonly AccessUsage[]): readonly Peak[] => {
  const sums = new Map<number, { sum: number; highest: Peak }>()
  for (const peak of all.flatMap(({ peaks }) => peaks)) {
    const { sum = 0, highest = peak } = sums.get(peak.startMs) ?? {}
    sums.set(peak.startMs, {
      sum: sum + peak.perSecond,
      highest: peak.perSecond > highest.perSecond ? peak : highest,
    })
  }
  return [...sums.values()]
    .map(({ sum, highest: { startMs, atMs } }) => ({ startMs, atMs, perSecond: toDecimal(sum) }))
    .toSorted((one, other) => one.startMs - other.startMs)
}

/** Use of one access on several machines, added up. */
const addAccessUsage = (all: readonly AccessUsage[]): AccessUsage => ({
  requestsPerSecond: sumOf(all, 'requestsPerSecond'),
  requestsLastSecond: sumOf(all, 'requestsLastSecond'),
  requestsInFlight: sumOf(all, 'requestsInFlight'),
  sockets: sumOf(all, 'sockets'),
  subscriptions: sumOf(all, 'subscriptions'),
  subscriptionsOfSocket: Math.max(...all.map(one => one.subscriptionsOfSocket)),
  means: {
    requestsPerSecond: all.reduce((sum, { means }) => sum + means.requestsPerSecond, 0),
    requestsInFlight: all.reduce((sum, { means }) => sum + means.requestsInFlight, 0),
    sockets: all.reduce((sum, { means }) => sum + means.sockets, 0),
    subscriptionsOfSocket: Math.max(...all.map(({ means }) => means.subscriptionsOfSocket)),
  },
  peaks: addPeaks(all),
  refused: mapLimits(name => all.reduce((sum, { refused }) => sum + refused[name], 0)),
})

/** Usage of this machine and of the others at the locations, added up. */
export const createUsageSum = (own: Usage, peers: Read): Usage => ({
  ofPlace: async place => {
    const path = placeUsagePath(place)
    const { answers, missing } = await peers.read([place.location], path, shapes.placeUsage)
    return { ...addUp(await own.ofPlace(place), answers), missing }
  },
  ofPeriods: async (place, query) => {
    const path = periodsPath(place, query)
    const { answers, missing } = await peers.read([place.location], path, usageShapes.usagePeriods)
    return { ...addPeriods([await own.ofPeriods(place, query), ...answers]), missing }
  },
  ofMethods: async (place, days) => {
    const path = methodsPath(place, days)
    const { answers, missing } = await peers.read([place.location], path, usageShapes.methodSums)
    const all = [await own.ofMethods(place, days), ...answers]
    return { methods: sumMethods(all.flatMap(({ methods }) => methods)), missing }
  },
  failures: async (accessId, limit, locations) => {
    const path = failuresPath(accessId, limit)
    const { answers, missing } = await peers.read(locations, path, usageShapes.failures)
    const all = [await own.failures(accessId, limit, locations), ...answers]
    return { ...mergeFailures(all, limit), missing }
  },
  ofAccess: async (accessId, locations) => {
    const path = accessUsagePath(accessId)
    const { answers, missing } = await peers.read(locations, path, limitShapes.utilisation)
    const all = [await own.ofAccess(accessId, locations), ...answers]
    return { ...addAccessUsage(all), missing }
  },
})

/** Pages of several machines as one, up to where the first of them ended. Ids sort by time. */
const mergePages = (pages: readonly SubmissionPageView[], limit: number): SubmissionPageView => {
  const ends = pages.flatMap(({ next }) => next ?? [])
  const end = ends.toSorted().at(-1) ?? null
  const found = pages
    .flatMap(({ submissions }) => submissions)
    .filter(({ submissionId }) => end === null || submissionId >= end)
    .toSorted((one, other) => (one.submissionId < other.submissionId ? 1 : -1))
  if (found.length <= limit) return { submissions: found, next: end }
  const kept = found.slice(0, limit)
  return { submissions: kept, next: kept.at(-1)?.submissionId ?? null }
}

/** Submissions to this machine and the others at the locations. */
export const createSubmissionsSum =
  (own: Submissions, peers: Read): Submissions =>
  async (search, locations) => {
    const path = searchPath(search)
    const [mine, { answers, missing }] = await Promise.all([
      own(search, locations),
      peers.read(locations, path, submissionPage),
    ])
    return { ...mergePages([mine, ...answers], search.limit), missing }
  }

import type { TokenScope } from '../access/store/tables.js'
import type { PeerRoute } from '../cluster/peers/peer-server.js'
import {
  parseSearch,
  type SubmissionPageView,
  type SubmissionSearch,
} from '../dashboard/api/submissions/shapes.js'
import { FAILURES_MAX, periodsQueryOf } from '../dashboard/api/usage/shapes.js'
import type { DayRange, PeriodQuery, Usage, UsageMinute } from '../dashboard/api/usage.js'
import { parseId } from '../submission/store/submission-id.js'
import type { SubmissionQuery } from '../submission/relay/relay-types.js'
import type { Submission } from '../submission/store/submission.js'

/** What other machines of the cluster may read of this one. */
export type PeerRouteParts = {
  /** Of this machine alone. */
  readonly usage: Usage
  readonly search: (search: SubmissionSearch) => Promise<SubmissionPageView>
  readonly find: (id: Uint8Array) => Promise<Submission | undefined>
}

const isUsed = ({ requests, errors, rateLimited, refused }: UsageMinute): boolean =>
  requests + errors + rateLimited + refused > 0

export const placeUsagePath = ({ accessId, network, location }: TokenScope): string =>
  `/accesses/${accessId}/networks/${network}/locations/${location}/usage`
type PeriodText = Readonly<Record<keyof PeriodQuery, number | string>>
export const periodsPath = (scope: TokenScope, { grain, fromMs, untilMs }: PeriodText): string =>
  `${placeUsagePath(scope)}/periods/${grain}/${fromMs}/${untilMs}`
export const methodsPath = (
  scope: TokenScope,
  { from, until }: Readonly<Record<keyof DayRange, number | string>>,
): string => `${placeUsagePath(scope)}/methods/${from}/${until}`
export const failuresPath = (accessId: string, limit: number | string): string =>
  `/accesses/${accessId}/failures/newest/${limit}`
export const accessUsagePath = (accessId: string): string => `/accesses/${accessId}/usage`
/** In place of a filter that is not set. */
const ANY = '-'
/** A segment of a path is at most 64 characters, a signature 88. */
const SIGNATURE_PART = 44

export const searchPath = (search: SubmissionSearch): string => {
  const { accessId, before = ANY, limit, route = ANY, signature = ANY, state = ANY } = search
  const parts = [signature.slice(0, SIGNATURE_PART), signature.slice(SIGNATURE_PART) || ANY]
  return [
    '/accesses',
    accessId,
    'submissions',
    route.replace('/', ''),
    state,
    ...parts,
    before,
    limit,
  ].join('/')
}

const SEARCH_PATTERN = '/accesses/:accessId/submissions/:route/:state/:head/:tail/:before/:limit'

/** The search of a path; undefined where it is none. */
const toSearch = (params: Readonly<Record<string, string>>): SubmissionSearch | undefined => {
  const { accessId = '', route = ANY, state = ANY, head = ANY, tail = ANY, before, limit } = params
  const given = {
    limit,
    ...(before === ANY ? {} : { before }),
    ...(route === ANY ? {} : { route: `/${route}` }),
    ...(state === ANY ? {} : { state }),
    ...(head === ANY ? {} : { signature: tail === ANY ? head : head + tail }),
  }
  return parseSearch(accessId, given)
}

export const submissionPath = ({ accessId, network, submissionId }: SubmissionQuery): string =>
  `/accesses/${accessId}/networks/${network}/submissions/${submissionId}`

const SCOPE = { accessId: ':accessId', network: ':network', location: ':location' }

/** The routes of the peer API. Nothing here returns a token. */
export const createPeerRoutes = ({ usage, search, find }: PeerRouteParts): readonly PeerRoute[] => [
  {
    path: placeUsagePath(SCOPE),
    answer: async ({ accessId = '', network = '', location = '' }) => {
      const { minutes, ...lists } = await usage.ofPlace({ accessId, network, location })
      return { minutes: minutes.filter(isUsed), ...lists }
    },
  },
  {
    path: periodsPath(SCOPE, { grain: ':grain', fromMs: ':from', untilMs: ':until' }),
    answer: ({ accessId = '', network = '', location = '', grain, from, until }) => {
      const query = periodsQueryOf({ grain, from, until })
      return query && usage.ofPeriods({ accessId, network, location }, query)
    },
  },
  {
    path: methodsPath(SCOPE, { from: ':from', until: ':until' }),
    answer: ({ accessId = '', network = '', location = '', from = '', until = '' }) =>
      /^\d{1,9}$/.test(from) && /^\d{1,9}$/.test(until)
        ? usage.ofMethods(
            { accessId, network, location },
            { from: Number(from), until: Number(until) },
          )
        : undefined,
  },
  {
    path: failuresPath(':accessId', ':limit'),
    answer: ({ accessId = '', limit }) => {
      const count = Math.min(FAILURES_MAX, Number(limit))
      return count >= 1 ? usage.failures(accessId, count, []) : undefined
    },
  },
  {
    path: accessUsagePath(':accessId'),
    answer: ({ accessId = '' }) => usage.ofAccess(accessId, []),
  },
  {
    path: SEARCH_PATTERN,
    answer: params => {
      const wanted = toSearch(params)
      return wanted && search(wanted)
    },
  },
  {
    path: submissionPath({
      accessId: ':accessId',
      network: ':network',
      submissionId: ':submissionId',
    }),
    answer: async ({ accessId = '', network = '', submissionId = '' }) => {
      const id = parseId(submissionId)
      const submission = id && (await find(id))
      if (submission?.accessId !== accessId || submission.network !== network) return undefined
      return { submission }
    },
  },
]

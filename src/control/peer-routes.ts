import type { PeerRoute } from '../cluster/peers/peer-server.js'
import {
  parseSearch,
  type SubmissionPageView,
  type SubmissionSearch,
} from '../dashboard/api/submissions/shapes.js'
import { formatId } from '../submission/store/submission-id.js'
import type { SubmissionQuery } from '../submission/relay/relay-types.js'
import type { StoredSubmission } from '../submission/store/submission.js'

/** What other machines of the cluster may read of this one. */
export type PeerRouteParts = {
  readonly search: (search: SubmissionSearch) => Promise<SubmissionPageView>
  /** By its id, or a signature of the access. */
  readonly find: (key: string, accessId: string) => Promise<StoredSubmission | undefined>
}

/** In place of a filter that is not set. */
const ANY = '-'
/** A segment of a path is at most 64 characters, a signature 88. */
const SIGNATURE_PART = 44

/** A signature, or any shorter text, as two segments of a path. */
const toSegments = (text: string): readonly [string, string] => [
  text.slice(0, SIGNATURE_PART),
  text.slice(SIGNATURE_PART) || ANY,
]

const ofSegments = (head: string, tail: string): string => (tail === ANY ? head : head + tail)

export const searchPath = (search: SubmissionSearch): string => {
  const { accessId, before = ANY, limit, route = ANY, signature = ANY, state = ANY } = search
  const { fromMs = ANY, location = ANY, untilMs = ANY } = search
  return [
    '/accesses',
    accessId,
    'submissions',
    route.replace('/', ''),
    state,
    ...toSegments(signature),
    location,
    fromMs,
    untilMs,
    before,
    limit,
  ].join('/')
}

const SEARCH_PATTERN =
  '/accesses/:accessId/submissions/:route/:state/:head/:tail/:location/:from/:until/:before/:limit'

/** The search of a path; undefined if it is none. */
const toSearch = (params: Readonly<Record<string, string>>): SubmissionSearch | undefined => {
  const { accessId = '', route = ANY, state = ANY, head = ANY, tail = ANY, before, limit } = params
  const { from, location, until } = params
  const given = {
    limit,
    ...(before === ANY ? {} : { before }),
    ...(location === ANY ? {} : { location }),
    ...(from === ANY ? {} : { fromMs: from }),
    ...(until === ANY ? {} : { untilMs: until }),
    ...(route === ANY ? {} : { route: `/${route}` }),
    ...(state === ANY ? {} : { state }),
    ...(head === ANY ? {} : { signature: ofSegments(head, tail) }),
  }
  return parseSearch(accessId, given)
}

export const submissionPath = ({ accessId, network, key }: SubmissionQuery): string =>
  ['/accesses', accessId, 'networks', network, 'submissions', ...toSegments(key)].join('/')

const SUBMISSION_PATTERN = '/accesses/:accessId/networks/:network/submissions/:head/:tail'

/** The routes of the peer API. Nothing here returns a token. */
export const createPeerRoutes = ({ search, find }: PeerRouteParts): readonly PeerRoute[] => [
  {
    path: SEARCH_PATTERN,
    answer: params => {
      const wanted = toSearch(params)
      return wanted && search(wanted)
    },
  },
  {
    path: SUBMISSION_PATTERN,
    answer: async ({ accessId = '', network = '', head = '', tail = '' }) => {
      const found = await find(ofSegments(head, tail), accessId)
      if (found?.submission.accessId !== accessId || found.submission.network !== network)
        return undefined
      return { submissionId: formatId(found.id), submission: found.submission }
    },
  },
]

import type { PeerRoute } from '../cluster/peers/peer-server.js'
import {
  parseSearch,
  type SubmissionPageView,
  type SubmissionSearch,
} from '../dashboard/api/submissions/shapes.js'
import { parseId } from '../submission/store/submission-id.js'
import type { SubmissionQuery } from '../submission/relay/relay-types.js'
import type { Submission } from '../submission/store/submission.js'

/** What other machines of the cluster may read of this one. */
export type PeerRouteParts = {
  readonly search: (search: SubmissionSearch) => Promise<SubmissionPageView>
  readonly find: (id: Uint8Array) => Promise<Submission | undefined>
}

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

/** The search of a path; undefined if it is none. */
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

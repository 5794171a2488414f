import type { PeerRoute } from '../cluster/peers/peer-server.js'
import { parseAuditSearch, type AuditPage, type AuditSearch } from '../dashboard/api/read-audit.js'
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
  readonly audit: (search: AuditSearch) => Promise<AuditPage>
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

/**
 * Entries of the audit log in one answer. The request of an entry has at most the 16 KiB of
 * `dashboard.bodyBytesMax`, so an answer stays below the 4 MiB of `peerAnswerBytesMax`.
 */
export const AUDIT_ROWS_MAX = 200

/** Any text as a segment of a path: a subject of 255 characters takes 1,021. */
const toSegment = (text: string | undefined): string =>
  text === undefined ? ANY : `_${Buffer.from(text).toString('base64url')}`

const ofSegment = (segment: string): string => Buffer.from(segment.slice(1), 'base64url').toString()

export const auditPath = ({ access, before, limit, subject }: AuditSearch): string =>
  ['/audit', toSegment(subject), toSegment(access), before ?? ANY, limit].join('/')

const AUDIT_PATTERN = '/audit/:subject/:access/:before/:limit'

/** The search of a path; undefined if it is none, or asks for too much. */
const toAuditSearch = (params: Readonly<Record<string, string>>): AuditSearch | undefined => {
  const { access = ANY, before = ANY, limit, subject = ANY } = params
  const found = parseAuditSearch({
    limit,
    ...(before === ANY ? {} : { before }),
    ...(access === ANY ? {} : { access: ofSegment(access) }),
    ...(subject === ANY ? {} : { subject: ofSegment(subject) }),
  })
  return found !== undefined && found.limit <= AUDIT_ROWS_MAX ? found : undefined
}

/** The routes of the peer API. Nothing here returns a token. */
export const createPeerRoutes = ({ audit, search, find }: PeerRouteParts): readonly PeerRoute[] => [
  {
    path: SEARCH_PATTERN,
    answer: params => {
      const wanted = toSearch(params)
      return wanted && search(wanted)
    },
  },
  {
    path: AUDIT_PATTERN,
    answer: async params => {
      const wanted = toAuditSearch(params)
      return wanted && { entries: (await audit(wanted)).entries }
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

import type { ClusterPeers } from './cluster/cluster-peers.js'
import {
  submissionPage,
  type SubmissionPageView,
  type Submissions,
} from '../dashboard/api/submissions/shapes.js'
import { searchPath } from './peer-routes.js'

type Read = Pick<ClusterPeers['client'], 'read'>

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

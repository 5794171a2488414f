import { ok, route, type Route } from '../../http/route.js'
import type { AccessService } from '../../../access/service.js'
import type { Catalog } from '../catalog.js'
import { findOwnAccess } from '../own-access.js'
import * as shapes from './shapes.js'
import type { Awaitable, Missing } from '../usage.js'

/** Submissions of an access at its locations, newest first. */
export type Submissions = (
  search: shapes.SubmissionSearch,
  locations: readonly string[],
) => Awaitable<shapes.SubmissionPageView & Missing>

export type SubmissionRouteParts = {
  readonly accessService: AccessService
  readonly catalog: Catalog
  readonly submissions: Submissions
}

/** The API of what was submitted. */
export const createSubmissionRoutes = ({
  accessService,
  catalog,
  submissions,
}: SubmissionRouteParts): readonly Route[] => [
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/submissions',
    guard: 'session',
    summary: 'Submissions with their states, checks and transactions',
    query: shapes.submissionsQuery,
    answers: { 200: { description: 'Newest first', body: shapes.submissions } },
    errors: ['noSuchAccess', 'wrongInput'],
    handle: async ({ session, params, query }) => {
      const access = findOwnAccess(accessService, session, params.accessId)
      const { accessId, locations, networks } = access
      const explorers = networks.flatMap(network => {
        const url = catalog.explorerUrl(network)
        return url === undefined ? [] : [{ network, url }]
      })
      return ok({ ...(await submissions({ accessId, ...query }, locations)), explorers })
    },
  }),
]

import { ok, route, type Route } from '../../http/route.js'
import * as shapes from './incident-shapes.js'

/** Incidents, newest first: of some locations, or all. */
export type ListIncidents = (query: {
  readonly locations?: readonly string[] | undefined
  readonly before?: string | undefined
  readonly limit: number
}) => readonly shapes.IncidentView[]

/** Most incidents that are shown to a person at once. */
const SHOWN_MAX = 50

export const createIncidentRoute = ({ incidents }: { readonly incidents: ListIncidents }): Route =>
  route({
    method: 'GET',
    path: '/api/accesses/:accessId/incidents',
    watchedMs: 10_000,
    guard: 'session',
    accessRole: 'view',
    apiKeyScope: 'usage:read',
    operatorAnswer: shapes.incidents,
    summary: 'The newest incidents of the locations of an access',
    answers: { 200: { description: 'Newest first, 50 at most', body: shapes.incidents } },
    handle: ({ access }) => {
      const { locations } = access
      return ok({ incidents: incidents({ locations, limit: SHOWN_MAX }) })
    },
  })

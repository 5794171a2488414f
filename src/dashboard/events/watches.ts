import type { Session } from '../auth/session.js'
import type { createPathAccess } from '../http/guard.js'
import { hasAccess, type Route } from '../http/route.js'

/** An answer of the API that an open page shows, and is sent when it has changed. */
export type Watch = {
  /** With its query, as the page asks for it. */
  readonly path: string
  readonly everyMs: number
  read(): Promise<unknown>
}

const ACCESS = '/api/accesses/:accessId'

/**
 * What can be watched, and how often it is read; of a holder's path also what operators see of it.
 * Whatever else a page shows, it asks for.
 */
export const INTERVALS: ReadonlyMap<string, number> = new Map([
  ['/api/overview', 10_000],
  ['/api/sessions', 10_000],
  [`${ACCESS}/failures`, 10_000],
  [`${ACCESS}/incidents`, 10_000],
  [`${ACCESS}/locations`, 5_000],
  [`${ACCESS}/machines`, 2_000],
  [`${ACCESS}/submissions`, 3_000],
  [`${ACCESS}/submissions/summary`, 10_000],
  [`${ACCESS}/usage`, 2_000],
  [`${ACCESS}/usage/range`, 10_000],
  [`${ACCESS}/warnings`, 10_000],
  [`${ACCESS}/webhooks`, 5_000],
  [`${ACCESS}/networks/:network/locations/:location/clients`, 10_000],
  ['/api/operator/nodes', 5_000],
  ['/api/operator/usage/range', 10_000],
])

/** Parameters of a path by the pattern of a route; undefined if it is another one. */
const match = (pattern: string, path: string): Readonly<Record<string, string>> | undefined => {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? ''
    if (!part.startsWith(':')) {
      if (part !== text) return undefined
    } else if (/^[A-Za-z0-9_-]{1,64}$/.test(text)) params[part.slice(1)] = text
    else return undefined
  }
  return params
}

/** Finds what is watched of some routes. Who watches is checked as in a request, at each read. */
export const createWatches =
  (
    routes: readonly Route[],
    operators: readonly string[],
    pathAccess: ReturnType<typeof createPathAccess>,
  ) =>
  (session: Session, path: string, peer: string): Watch | undefined => {
    const [at = '', query = ''] = path.split('?')
    for (const route of routes) {
      const everyMs = INTERVALS.get(route.holderPath ?? route.path)
      if (everyMs === undefined || route.method !== 'GET' || route.guard !== 'session') continue
      if (route.needsOperator && !operators.includes(session.subject)) continue
      const params = match(route.path, at)
      if (params === undefined) continue
      const call = {
        ...{ params, session, body: undefined, admin: undefined, apiKey: undefined },
        search: query === '' ? '' : `?${query}`,
        ...{ peer, client: '', userAgent: '' },
        cookie: () => undefined,
        signIns: () => new Map<string, string>(),
      }
      const demand = () =>
        hasAccess(route) ? pathAccess(route, session, params['accessId'], peer) : undefined
      const read = async (): Promise<unknown> => {
        const { body } = await route.run({ ...call, access: demand() })
        // The right may have been taken away meanwhile.
        demand()
        return body
      }
      return { path, everyMs, read }
    }
    return undefined
  }

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

/**
 * Finds what is watched: routes that declare `watchedMs`. Who watches is checked as in
 * a request, at each read.
 */
export const createWatches =
  (
    routes: readonly Route[],
    operators: readonly string[],
    pathAccess: ReturnType<typeof createPathAccess>,
  ) =>
  (session: Session, path: string, peer: string): Watch | undefined => {
    const [at = '', query = ''] = path.split('?')
    for (const route of routes) {
      const { watchedMs: everyMs } = route
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

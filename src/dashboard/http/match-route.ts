import type { Route } from './route.js'

/** Characters of ids, which are all that `:name` matches. */
const SEGMENT = /^[A-Za-z0-9_-]{1,64}$/

type Pattern = { readonly route: Route; readonly parts: readonly string[] }

const paramsOf = (
  parts: readonly string[],
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined => {
  if (parts.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    const segment = segments[index] ?? ''
    if (!part.startsWith(':')) {
      if (part !== segment) return undefined
    } else if (SEGMENT.test(segment)) params[part.slice(1)] = segment
    else return undefined
  }
  return params
}

/** The route of a path, or the methods that the path allows. */
export type Match =
  | { readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly allowed: readonly string[] }

/** Finds routes by method and path. Paths are not decoded, because ids need no encoding. */
export const createMatcher = (
  routes: readonly Route[],
): ((method: string, path: string) => Match) => {
  const patterns: readonly Pattern[] = routes.map(route => ({
    route,
    parts: route.path.split('/'),
  }))
  return (method, path) => {
    const segments = path.split('/')
    const allowed: string[] = []
    for (const { route, parts } of patterns) {
      const params = paramsOf(parts, segments)
      if (params === undefined) continue
      if (route.method === method) return { route, params }
      allowed.push(route.method)
    }
    return { allowed }
  }
}

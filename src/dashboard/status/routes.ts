import { route, type Answer, type Route } from '../http/route.js'
import { toStatusPage } from './page.js'
import * as shapes from './shapes.js'

/** What was read is sent to everyone for this long: a flood reads and formats nothing. */
const KEPT_MS = 5_000

/** Caches between may keep it, too; it is not compressed for each request. */
const CACHE_CONTROL = `public, max-age=${KEPT_MS / 1_000}, no-transform`

const toAnswers = (status: shapes.Status): Readonly<Record<'page' | 'json', Answer>> => {
  const answer = (type: string, text: string): Answer => ({
    status: 200,
    text,
    headers: { 'Content-Type': type, 'Cache-Control': CACHE_CONTROL },
  })
  return {
    page: answer('text/html; charset=utf-8', toStatusPage(status)),
    json: answer('application/json', JSON.stringify(status)),
  }
}

/** The status page and its data, for everyone; no routes if the operator has not enabled it. */
export const createStatusRoutes = (
  read: () => shapes.Status,
  { statusPage }: { readonly statusPage: boolean },
  elapsed = (): number => performance.now(),
): readonly Route[] => {
  if (!statusPage) return []
  let kept: { readonly atMs: number; readonly answers: ReturnType<typeof toAnswers> } | undefined
  const answers = (): ReturnType<typeof toAnswers> => {
    if (kept === undefined || elapsed() - kept.atMs >= KEPT_MS)
      kept = { atMs: elapsed(), answers: toAnswers(read()) }
    return kept.answers
  }
  return [
    route({
      method: 'GET',
      path: '/status',
      guard: 'open',
      summary: 'The status page, if `dashboard.statusPage` is on',
      answers: { 200: { description: 'HTML' } },
      handle: () => answers().page,
    }),
    route({
      method: 'GET',
      path: '/status.json',
      guard: 'open',
      summary: 'States, uptime and incidents of all locations, if `dashboard.statusPage` is on',
      answers: { 200: { description: 'At most 5 s old', body: shapes.status } },
      handle: () => answers().json,
    }),
  ]
}

import { RpcError } from '../../shared/errors.js'
import * as shapes from './session-shapes.js'
import { ok, route, type Route } from '../http/route.js'
import type { Sessions } from './session.js'

/** Routes to see and end the sessions of the signed-in person. */
export const createSessionListRoutes = (
  sessions: Pick<Sessions, 'list' | 'endOf'>,
): readonly Route[] => [
  route({
    method: 'GET',
    path: '/api/sessions',
    watchedMs: 10_000,
    guard: 'session',
    summary: 'The sessions of the signed-in person',
    answers: { 200: { description: 'The one that was used last first', body: shapes.sessions } },
    handle: ({ session }) => {
      const listed = sessions.list(session.subject)
      return ok({
        sessions: listed.map(one =>
          Object.assign({}, one, { isCurrent: one.sessionId === session.sessionId }),
        ),
      })
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/sessions/:sessionId',
    guard: 'session',
    isRateLimited: true,
    summary: 'End one session; its next request is refused',
    audit: 'end-session',
    answers: { 204: { description: 'It has ended' } },
    errors: ['noSuchSession'],
    handle: async ({ session, params }) => {
      const ended = await sessions.endOf(session.subject, id => id === params.sessionId)
      if (ended === 0) throw new RpcError('noSuchSession')
      return { status: 204 }
    },
  }),
  route({
    method: 'POST',
    path: '/api/sessions/end-others',
    guard: 'session',
    isRateLimited: true,
    summary: 'End all sessions but this one',
    audit: 'end-sessions',
    answers: { 200: { description: 'How many have ended', body: shapes.endedSessions } },
    handle: async ({ session }) =>
      ok({ ended: await sessions.endOf(session.subject, id => id !== session.sessionId) }),
  }),
]

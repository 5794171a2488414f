import { RpcError } from '../../shared/errors.js'
import type { Log } from '../../shared/log.js'
import { checkRate } from '../http/failure.js'
import type { RateLimits } from '../http/rate-limits.js'
import type { Cookies } from '../http/cookies.js'
import { route, type Answer, type Route } from '../http/route.js'
import type { Sessions } from './session.js'
import * as shapes from '../api/shapes.js'
import { SignInError, type SignIn } from './sign-in.js'
import type { SignInFailure } from './sign-in-failure.js'

/** What the session routes are made of. */
export type SessionRouteParts = {
  /** Absent if no identity provider is configured. */
  readonly signIn: SignIn | undefined
  readonly sessions: Sessions
  readonly cookies: Cookies
  readonly log: Log
  /** Failed attempts to authenticate, of each address. */
  readonly failures: RateLimits
  readonly options: { readonly signInMs: number; readonly sessionMaxMs: number }
}

/**
 * Redirects to the page, which shows a message for the failure. The URL has neither code nor state.
 */
const toPage = (failure: SignInFailure | undefined, cookies: readonly string[]): Answer => ({
  status: 303,
  headers: {
    Location: failure === undefined ? '/' : `/?sign-in=${failure}`,
    'Set-Cookie': cookies,
  },
})

/** Routes of a session: read it and end it. */
const createSessionApi = ({
  sessions,
  cookies,
  log,
}: Pick<SessionRouteParts, 'sessions' | 'cookies' | 'log'>): readonly Route[] => [
  route({
    method: 'GET',
    path: '/api/session',
    guard: 'session',
    summary: 'The current session',
    answers: {
      200: {
        description: 'The person, and when the session ends if it is not used',
        body: shapes.session,
      },
    },
    handle: ({ session }) => ({ status: 200, body: session }),
  }),
  route({
    method: 'POST',
    path: '/api/sign-out',
    guard: 'session',
    summary: 'End the session',
    audit: 'sign-out',
    answers: { 204: { description: 'The session has ended' } },
    handle: async ({ session, cookie }) => {
      const id = cookie('session')
      if (id === undefined) throw new RpcError('signedOut')
      await sessions.end(id)
      log.info({ subject: session.subject }, 'signed out')
      return { status: 204, headers: { 'Set-Cookie': cookies.clear('session') } }
    },
  }),
]

/** Routes to sign in at the identity provider, read the session and sign out. */
export const createSessionRoutes = ({
  signIn,
  sessions,
  cookies,
  log,
  failures,
  options,
}: SessionRouteParts): readonly Route[] => {
  /** Redirects to the page after any failure, and logs the reason. */
  const refuse = (error: unknown, peer: string): Answer => {
    checkRate(failures.take(peer))
    const known = error instanceof SignInError ? error : undefined
    if (known === undefined) log.error({ err: error }, 'a sign-in failed')
    else log.warn({ failure: known.failure, reason: known.message }, 'a sign-in failed')
    return toPage(known?.failure ?? 'failed', [cookies.clear('sign-in')])
  }

  return [
    route({
      method: 'GET',
      path: '/sign-in',
      guard: 'open',
      summary: 'Redirect to the identity provider',
      query: shapes.signInQuery,
      answers: {
        302: { description: 'Redirect to the identity provider' },
        303: { description: 'Redirect to the page, with the error' },
      },
      errors: ['wrongInput', 'tooManyAttempts'],
      handle: async ({ query, peer, cookie }) => {
        if (signIn === undefined) return toPage('unconfigured', [])
        try {
          const { url, pending } = await signIn.begin({
            replaces: cookie('session') ?? '',
            isFresh: query.prompt === 'login',
          })
          const kept = cookies.write('sign-in', pending, options.signInMs)
          return { status: 302, headers: { Location: url, 'Set-Cookie': kept } }
        } catch (error) {
          return refuse(error, peer)
        }
      },
    }),
    route({
      method: 'GET',
      path: '/callback',
      guard: 'open',
      summary: 'Return from the identity provider',
      audit: 'sign-in',
      answers: { 303: { description: 'Redirect to the page, signed in or with the error' } },
      errors: ['tooManyAttempts'],
      handle: async ({ search, peer, cookie }) => {
        if (signIn === undefined) return toPage('unconfigured', [])
        try {
          const { person, replaces } = await signIn.finish(search, cookie('sign-in') ?? '')
          // Session fixation: an id from before the sign-in must not be valid after it.
          await sessions.end(replaces)
          const id = await sessions.open(person)
          log.info({ subject: person.subject }, 'signed in')
          const kept = cookies.write('session', id, options.sessionMaxMs)
          const page = toPage(undefined, [kept, cookies.clear('sign-in')])
          return { ...page, signedIn: person.subject }
        } catch (error) {
          return refuse(error, peer)
        }
      },
    }),
    ...createSessionApi({ sessions, cookies, log }),
  ]
}

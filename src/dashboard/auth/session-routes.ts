import { RpcError } from '../../shared/errors.js'
import type { Log } from '../../shared/log.js'
import type { Cookies } from '../http/cookies.js'
import { route, type Answer, type Route } from '../http/route.js'
import type { Sessions } from './session.js'
import * as shapes from '../api/shapes.js'
import { SignInError, type SignIn } from './sign-in.js'
import type { SignInFailure } from './sign-in-failure.js'

/** What signing in and out is made of. */
export type SessionRouteParts = {
  /** Absent where no identity provider is configured. */
  readonly signIn: SignIn | undefined
  readonly sessions: Sessions
  readonly cookies: Cookies
  readonly log: Log
  readonly options: { readonly signInMs: number; readonly sessionMaxMs: number }
}

/**
 * Back to the page, which has a sentence for the reason. The address holds nothing else: no code,
 * no state.
 */
const toPage = (failure: SignInFailure | undefined, cookies: readonly string[]): Answer => ({
  status: 303,
  headers: {
    Location: failure === undefined ? '/' : `/?sign-in=${failure}`,
    'Set-Cookie': cookies,
  },
})

/** Routes of signing in at the identity provider, of the session that follows, and of its end. */
export const createSessionRoutes = ({
  signIn,
  sessions,
  cookies,
  log,
  options,
}: SessionRouteParts): readonly Route[] => {
  /** Whatever went wrong, the person lands on the page; the log has the reason. */
  const refuse = (error: unknown): Answer => {
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
      summary: 'Go to the identity provider',
      query: shapes.signInQuery,
      answers: { 302: { says: 'To the provider' }, 303: { says: 'Back to the page, with why' } },
      errors: ['wrongInput'],
      handle: async ({ query, cookie }) => {
        if (signIn === undefined) return toPage('unconfigured', [])
        try {
          const { url, pending } = await signIn.begin({
            replaces: cookie('session') ?? '',
            isFresh: query.prompt === 'login',
          })
          const kept = cookies.write('sign-in', pending, options.signInMs)
          return { status: 302, headers: { Location: url, 'Set-Cookie': kept } }
        } catch (error) {
          return refuse(error)
        }
      },
    }),
    route({
      method: 'GET',
      path: '/callback',
      guard: 'open',
      summary: 'Come back from the identity provider',
      answers: { 303: { says: 'To the page: signed in, or with why not' } },
      handle: async ({ search, cookie }) => {
        if (signIn === undefined) return toPage('unconfigured', [])
        try {
          const { person, replaces } = await signIn.finish(search, cookie('sign-in') ?? '')
          // An id that was known before the sign-in must not be one after it.
          await sessions.end(replaces)
          const id = await sessions.open(person)
          log.info({ subject: person.subject }, 'signed in')
          return toPage(undefined, [
            cookies.write('session', id, options.sessionMaxMs),
            cookies.clear('sign-in'),
          ])
        } catch (error) {
          return refuse(error)
        }
      },
    }),
    route({
      method: 'GET',
      path: '/api/session',
      guard: 'session',
      summary: 'Who is signed in',
      answers: { 200: { says: 'And until when, if nothing is done', body: shapes.session } },
      handle: ({ session }) => ({ status: 200, body: session }),
    }),
    route({
      method: 'POST',
      path: '/api/sign-out',
      guard: 'session',
      summary: 'End the session',
      answers: { 204: { says: 'Its cookie opens nothing any more' } },
      handle: async ({ session, cookie }) => {
        const id = cookie('session')
        if (id === undefined) throw new RpcError('signedOut')
        await sessions.end(id)
        log.info({ subject: session.subject }, 'signed out')
        return { status: 204, headers: { 'Set-Cookie': cookies.clear('session') } }
      },
    }),
  ]
}

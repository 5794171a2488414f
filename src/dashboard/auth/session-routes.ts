import { RpcError } from '../../shared/errors.js'
import type { Log } from '../../shared/log.js'
import { checkRate } from '../http/failure.js'
import type { RateLimits } from '../http/rate-limits.js'
import type { Cookies } from '../http/cookies.js'
import { ok, route, type Answer, type Route } from '../http/route.js'
import { toBrowserName } from './browser-name.js'
import { pendingId, type PendingSignIns } from './pending-sign-in.js'
import type { Sessions } from './session.js'
import * as shapes from '../api/shapes.js'
import { SignInError } from './provider.js'
import type { SignIn } from './sign-in.js'
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
  readonly options: {
    readonly signInMs: number
    readonly signInsPerBrowserMax: number
    readonly sessionMaxMs: number
    readonly recentSignInMs: number
    readonly operators: readonly string[]
    readonly signedOutMs: number
  }
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
  signIn,
  cookies,
  log,
  options,
}: SessionRouteParts): readonly Route[] => {
  /** The person has signed out here, whatever the provider does. */
  const findSignOutUrl = async (): Promise<string | null> => {
    try {
      return (await signIn?.signOutUrl()) ?? null
    } catch (error) {
      const reason = error instanceof SignInError ? error.message : 'unknown'
      log.warn({ reason }, 'the session of the identity provider was not ended')
      return null
    }
  }
  return [
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
      handle: ({ session }) => {
        const { subject, email, verifiedEmail, name, authenticatedAtMs, expiresAtMs } = session
        const isEmailVerified = verifiedEmail !== ''
        const recentUntilMs = authenticatedAtMs + options.recentSignInMs
        const isOperator = options.operators.includes(subject)
        const person = { subject, email, isEmailVerified, name }
        return ok({ ...person, expiresAtMs, recentUntilMs, isOperator })
      },
    }),
    route({
      method: 'POST',
      path: '/api/sign-out',
      guard: 'session',
      summary: 'End the session; the next sign-in of this browser asks for the password',
      audit: 'sign-out',
      answers: { 200: { description: 'The session has ended', body: shapes.signedOut } },
      handle: async ({ session, cookie }) => {
        const id = cookie('session')
        if (id === undefined) throw new RpcError('signedOut')
        await sessions.end(id)
        log.info({ subject: session.subject }, 'signed out')
        const marked = cookies.write('signed-out', '1', options.signedOutMs)
        return {
          ...ok({ providerUrl: await findSignOutUrl() }),
          headers: { 'Set-Cookie': [cookies.clear('session'), marked] },
        }
      },
    }),
  ]
}

/** Cookies of a sign-in that begins; the oldest of too many is lost. */
const beginCookies = (
  { signIn, cookies, options }: SessionRouteParts,
  { id, sealed }: { readonly id: string; readonly sealed: string },
  inProgress: PendingSignIns,
): readonly string[] => {
  const valid = [...(signIn?.carry(inProgress, '').keys() ?? [])]
  const kept = new Set(valid.slice(-(options.signInsPerBrowserMax - 1) || valid.length))
  const lost = [...inProgress.keys()].filter(other => !kept.has(other))
  return [
    cookies.write(`sign-in-${id}`, sealed, options.signInMs),
    ...lost.map(other => cookies.clear(`sign-in-${other}`)),
  ]
}

/** Cookies after a sign-in: other tabs that are still signing in replace its session. */
const finishCookies = (
  { signIn, cookies, options }: SessionRouteParts,
  {
    finished,
    sessionId,
    wasSignedOut,
  }: {
    readonly finished: string
    readonly sessionId: string
    readonly wasSignedOut: boolean
  },
  inProgress: PendingSignIns,
): readonly string[] => {
  const others = new Map([...inProgress].filter(([id]) => id !== finished))
  const carried = signIn?.carry(others, sessionId) ?? []
  return [
    cookies.write('session', sessionId, options.sessionMaxMs),
    cookies.clear(`sign-in-${finished}`),
    ...Array.from(carried, ([id, sealed]) =>
      cookies.write(`sign-in-${id}`, sealed, options.signInMs),
    ),
    ...(wasSignedOut ? [cookies.clear('signed-out')] : []),
  ]
}

/** Routes to sign in at the identity provider, read the session and sign out. */
export const createSessionRoutes = (parts: SessionRouteParts): readonly Route[] => {
  const { signIn, sessions, cookies, log, failures } = parts
  /** Redirects to the page after any failure, and logs the reason. */
  const refuse = (error: unknown, peer: string, cleared: readonly string[]): Answer => {
    checkRate(failures.take(peer))
    const known = error instanceof SignInError ? error : undefined
    if (known === undefined) log.error({ err: error }, 'a sign-in failed')
    else log.warn({ failure: known.failure, reason: known.message }, 'a sign-in failed')
    return toPage(known?.failure ?? 'failed', cleared)
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
      handle: async ({ query, peer, cookie, signIns }) => {
        if (signIn === undefined) return toPage('unconfigured', [])
        try {
          const begun = await signIn.begin({
            replaces: cookie('session') ?? '',
            isFresh: query.prompt === 'login' || cookie('signed-out') !== undefined,
          })
          const set = beginCookies(parts, begun, signIns())
          return { status: 302, headers: { Location: begun.url, 'Set-Cookie': set } }
        } catch (error) {
          return refuse(error, peer, [])
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
      handle: async ({ search, peer, client, userAgent, cookie, signIns }) => {
        if (signIn === undefined) return toPage('unconfigured', [])
        const inProgress = signIns()
        const finished = pendingId(new URLSearchParams(search).get('state') ?? '')
        try {
          const { person, replaces, authenticatedAtMs } = await signIn.finish(search, inProgress)
          // Session fixation: an id from before the sign-in must not be valid after it.
          await sessions.end(replaces)
          const browser = toBrowserName(userAgent)
          const start = { person, authenticatedAtMs, address: client, browser }
          const sessionId = await sessions.open(start)
          log.info({ subject: person.subject }, 'signed in')
          const wasSignedOut = cookie('signed-out') !== undefined
          const set = finishCookies(parts, { finished, sessionId, wasSignedOut }, inProgress)
          return { ...toPage(undefined, set), signedIn: person.subject }
        } catch (error) {
          const cleared = inProgress.has(finished) ? [cookies.clear(`sign-in-${finished}`)] : []
          return refuse(error, peer, cleared)
        }
      },
    }),
    ...createSessionApi(parts),
  ]
}

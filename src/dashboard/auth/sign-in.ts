import * as openid from 'openid-client'
import { foldEmail } from '../../access/members/members.js'
import {
  pendingId,
  unsealAll,
  type PendingSeal,
  type PendingSignIn,
  type PendingSignIns,
} from './pending-sign-in.js'
import {
  createProvider,
  SignInError,
  text,
  type Identity,
  type ProviderOptions,
} from './provider.js'
import type { Person } from './session.js'

type Options = ProviderOptions & {
  readonly signInMs: number
  readonly sessionMaxMs: number
  readonly recentSignInMs: number
}

/** Signs in at the identity provider: the code flow of OpenID Connect with PKCE. */
export type SignIn = {
  /**
   * The URL to redirect the browser to, and the sealed state that it must return. Rejects with
   * SignInError.
   */
  begin(from: {
    readonly replaces: string
    /** Asks for the password even if the provider has a session. */
    readonly isFresh: boolean
  }): Promise<{ readonly url: string; readonly id: string; readonly sealed: string }>
  /**
   * The person of a returned query (with its `?`), of one of the sign-ins that this browser has in
   * progress. Rejects with SignInError.
   */
  finish(search: string, pending: PendingSignIns): Promise<SignedIn>
  /** The valid sign-ins in progress, oldest first, sealed with another `replaces`. */
  carry(pending: PendingSignIns, replaces: string): PendingSignIns
  /**
   * Where the browser ends the session of the provider, if the provider has such a page and
   * answers. Rejects with SignInError.
   */
  signOutUrl(): Promise<string | undefined>
}

/** A sign-in that succeeded. */
export type SignedIn = {
  readonly person: Person
  /** Id of the session that it replaces; empty if there was none. */
  readonly replaces: string
  /** When the person last entered a password; where the provider gives no `auth_time`: now. */
  readonly authenticatedAtMs: number
}

/** The bound of `sub` in OpenID Connect. */
const SUBJECT_CHARS_MAX = 255

type Claims = { readonly sub: string; readonly [name: string]: unknown }

/**
 * The e-mail address of claims that also say that it is verified, with the boolean that OpenID
 * Connect Core §5.1 has; else empty. In whole: of a longer address a part is not verified.
 */
const toVerifiedEmail = ({
  email,
  email_verified: isVerified,
}: Readonly<Record<string, unknown>>) =>
  typeof email === 'string' && isVerified === true ? (foldEmail(email) ?? '') : ''

/** The person of an ID token, and of what the userinfo endpoint adds to it. */
const toPerson = (token: Claims, more: Readonly<Record<string, unknown>>): Person => {
  const claims: Claims = { ...more, ...token }
  // Truncation could make two people one.
  if (claims.sub === '' || claims.sub.length > SUBJECT_CHARS_MAX)
    throw new SignInError(
      'failed',
      `the provider's sub is not of 1 to ${SUBJECT_CHARS_MAX} characters`,
    )
  const email = text(claims['email'])
  return {
    subject: claims.sub,
    email,
    // One of them may say of its own address what does not hold for that of the other.
    verifiedEmail: toVerifiedEmail(token['email'] === undefined ? more : token),
    name: text(claims['name']) || email || claims.sub,
  }
}

/** How far the clocks of the provider and of this machine may differ. */
const CLOCK_TOLERANCE_MS = 30_000

/**
 * When the person entered the password. Providers that support neither `max_age` nor `prompt` give
 * no `auth_time`; then the time of this sign-in has to do.
 */
const checkAuthTime = (claims: Claims, sinceMs: number, nowMs: number): number => {
  const claimed = claims['auth_time']
  if (typeof claimed !== 'number') return nowMs
  const atMs = claimed * 1_000
  if (atMs + CLOCK_TOLERANCE_MS < sinceMs)
    throw new SignInError('stale', 'the provider did not ask for the password again')
  return Math.min(atMs, nowMs)
}

/** The sign-in that a returned query belongs to. */
const findPending = (seal: PendingSeal, search: string, pending: PendingSignIns): PendingSignIn => {
  const known = unsealAll(seal, pending)
  if (known.length === 0)
    throw new SignInError('expired', 'no sign-in of this browser is under way')
  const states = new URLSearchParams(search).getAll('state')
  const found = known.find(({ state }) => states.length === 1 && state === states[0])
  if (found !== undefined) return found
  throw new SignInError('failed', 'the answer is for no sign-in of this browser')
}

/** Sign-in at one identity provider. */
export const createSignIn = (parts: {
  readonly identity: Identity
  readonly publicUrl: URL
  readonly pendingSeal: PendingSeal
  readonly options: Options
  readonly now: () => number
}): SignIn => {
  const { identity, publicUrl, pendingSeal, options, now } = parts
  const redirectUri = new URL('/callback', publicUrl).href
  const ask = createProvider(parts)

  return {
    begin: ({ replaces, isFresh }) =>
      ask(async config => {
        const state = openid.randomState()
        const nonce = openid.randomNonce()
        const verifier = openid.randomPKCECodeVerifier()
        const ageMs = isFresh ? options.recentSignInMs : options.sessionMaxMs
        const url = openid.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: identity.scope,
          state,
          nonce,
          code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          // With it a provider must say in `auth_time` when it asked for the password.
          max_age: String(Math.ceil(ageMs / 1_000)),
          ...(isFresh ? { prompt: 'login' } : {}),
        })
        const authenticatedSinceMs = isFresh ? now() : now() - ageMs
        const expiresAtMs = now() + options.signInMs
        const pending = { state, nonce, verifier, replaces, authenticatedSinceMs, expiresAtMs }
        return { url: url.href, id: pendingId(state), sealed: pendingSeal.seal(pending) }
      }),
    finish: (search, sealed) =>
      ask(async config => {
        const pending = findPending(pendingSeal, search, sealed)
        const tokens = await openid.authorizationCodeGrant(config, new URL(search, redirectUri), {
          pkceCodeVerifier: pending.verifier,
          expectedState: pending.state,
          expectedNonce: pending.nonce,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (claims === undefined) throw new SignInError('failed', 'the provider gave no ID token')
        const authenticatedAtMs = checkAuthTime(claims, pending.authenticatedSinceMs, now())
        // Some providers have the name in the ID token, others only at the userinfo endpoint.
        const isComplete = claims['email'] !== undefined && claims['name'] !== undefined
        const more =
          isComplete || config.serverMetadata().userinfo_endpoint === undefined
            ? {}
            : await openid.fetchUserInfo(config, tokens.access_token, claims.sub)
        const person = toPerson(claims, more)
        return { person, replaces: pending.replaces, authenticatedAtMs }
      }),
    carry: (pending, replaces) =>
      new Map(
        unsealAll(pendingSeal, pending).map(({ id, ...state }) => [
          id,
          pendingSeal.seal({ ...state, replaces }),
        ]),
      ),
    signOutUrl: () =>
      ask(async config => {
        if (identity.signOut === 'here') return undefined
        if (config.serverMetadata().end_session_endpoint === undefined) return undefined
        const back = { post_logout_redirect_uri: new URL('/', publicUrl).href }
        return openid.buildEndSessionUrl(config, back).href
      }),
  }
}

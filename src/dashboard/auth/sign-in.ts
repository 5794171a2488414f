import * as openid from 'openid-client'
import { createBoundedFetch } from '../http/bounded-fetch.js'
import type { PendingSeal } from './pending-sign-in.js'
import type { Person } from './session.js'
import type { SignInFailure } from './sign-in-failure.js'

/** A failed sign-in. Its message is for the log, and contains no code, token or key. */
export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly failure: SignInFailure

  constructor(failure: SignInFailure, message: string) {
    super(message)
    this.failure = failure
  }
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
  }): Promise<{ readonly url: string; readonly pending: string }>
  /** The person of a returned query (with its `?`). Rejects with SignInError. */
  finish(
    search: string,
    pending: string,
  ): Promise<{ readonly person: Person; readonly replaces: string }>
}

export type Identity = {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string | undefined
  readonly scope: string
}

type Options = {
  readonly signInMs: number
  readonly providerMs: number
  readonly providerBytesMax: number
  readonly discoveryMs: number
  readonly signInsInFlightMax: number
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, CLAIM_CHARS_MAX) : ''
/** Longest name or email address that is kept. */
const CLAIM_CHARS_MAX = 256
/** The bound of `sub` in OpenID Connect. */
const SUBJECT_CHARS_MAX = 255

type Claims = { readonly sub: string; readonly [name: string]: unknown }

const toPerson = (claims: Claims): Person => {
  // Truncation could make two people one.
  if (claims.sub === '' || claims.sub.length > SUBJECT_CHARS_MAX)
    throw new SignInError(
      'failed',
      `the provider's sub is not of 1 to ${SUBJECT_CHARS_MAX} characters`,
    )
  const email = text(claims['email'])
  return { subject: claims.sub, email, name: text(claims['name']) || email || claims.sub }
}

/** Maps the errors of openid-client to failures that the page can show. */
const toSignInError = (error: unknown): SignInError => {
  if (error instanceof SignInError) return error
  if (error instanceof openid.AuthorizationResponseError) {
    const isCancelled = error.error === 'access_denied' || error.error === 'login_required'
    return new SignInError(isCancelled ? 'cancelled' : 'failed', `provider: ${text(error.error)}`)
  }
  if (error instanceof openid.ResponseBodyError)
    return new SignInError('failed', `token endpoint: ${text(error.error)}`)
  if (error instanceof openid.ClientError) {
    const isTimeout = error.code === 'OAUTH_TIMEOUT'
    return new SignInError(isTimeout ? 'unreachable' : 'failed', `${error.code}: ${error.message}`)
  }
  // Errors of fetch: connection, DNS or TLS.
  return new SignInError('unreachable', error instanceof Error ? error.message : 'unknown')
}

const isInsecure = (url: URL): boolean => url.protocol === 'http:'

/** Fetches the metadata of the provider. */
const discover = (
  identity: Identity,
  options: Options,
  fetch: openid.CustomFetch,
): Promise<openid.Configuration> => {
  const issuer = new URL(identity.issuer)
  const { clientId, clientSecret } = identity
  const authentication =
    clientSecret === undefined ? openid.None() : openid.ClientSecretBasic(clientSecret)
  return openid.discovery(issuer, clientId, undefined, authentication, {
    timeout: options.providerMs / 1_000,
    [openid.customFetch]: fetch,
    // Also verifies the signature of the ID token.
    execute: isInsecure(issuer)
      ? [openid.allowInsecureRequests, openid.enableNonRepudiationChecks]
      : [openid.enableNonRepudiationChecks],
  })
}

/** Sign-in at one identity provider. Its metadata is fetched at the first sign-in. */
export const createSignIn = (parts: {
  readonly identity: Identity
  readonly publicUrl: URL
  readonly pendingSeal: PendingSeal
  readonly options: Options
  readonly now: () => number
}): SignIn => {
  const { identity, publicUrl, pendingSeal, options, now } = parts
  const redirectUri = new URL('/callback', publicUrl).href
  const fetch = createBoundedFetch(options.providerBytesMax)
  let provider:
    { readonly config: Promise<openid.Configuration>; readonly askedAtMs: number } | undefined
  let inFlight = 0

  /**
   * The metadata of the provider. Concurrent callers share one request; a failed one is repeated.
   */
  const configuration = (): Promise<openid.Configuration> => {
    if (provider !== undefined && now() - provider.askedAtMs < options.discoveryMs)
      return provider.config
    const asked = { config: discover(identity, options, fetch), askedAtMs: now() }
    provider = asked
    asked.config.catch(() => {
      if (provider === asked) provider = undefined
    })
    return asked.config
  }

  const bounded = async <T>(work: () => Promise<T>): Promise<T> => {
    if (inFlight >= options.signInsInFlightMax)
      throw new SignInError('busy', `over ${options.signInsInFlightMax} sign-ins at once`)
    inFlight++
    try {
      return await work()
    } catch (error) {
      throw toSignInError(error)
    } finally {
      inFlight--
    }
  }

  return {
    begin: ({ replaces, isFresh }) =>
      bounded(async () => {
        const config = await configuration()
        const state = openid.randomState()
        const nonce = openid.randomNonce()
        const verifier = openid.randomPKCECodeVerifier()
        const url = openid.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: identity.scope,
          state,
          nonce,
          code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(isFresh ? { prompt: 'login' } : {}),
        })
        const expiresAtMs = now() + options.signInMs
        const pending = pendingSeal.seal({ state, nonce, verifier, replaces, expiresAtMs })
        return { url: url.href, pending }
      }),
    finish: (search, sealed) =>
      bounded(async () => {
        const pending = pendingSeal.unseal(sealed)
        if (pending === undefined)
          throw new SignInError('expired', 'no sign-in of this browser is under way')
        const config = await configuration()
        const tokens = await openid.authorizationCodeGrant(config, new URL(search, redirectUri), {
          pkceCodeVerifier: pending.verifier,
          expectedState: pending.state,
          expectedNonce: pending.nonce,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (claims === undefined) throw new SignInError('failed', 'the provider gave no ID token')
        // Some providers have the name in the ID token, others only at the userinfo endpoint.
        const isComplete = claims['email'] !== undefined && claims['name'] !== undefined
        const more =
          isComplete || config.serverMetadata().userinfo_endpoint === undefined
            ? {}
            : await openid.fetchUserInfo(config, tokens.access_token, claims.sub)
        const person = toPerson({ ...more, ...claims })
        return { person, replaces: pending.replaces }
      }),
  }
}

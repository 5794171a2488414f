import * as openid from 'openid-client'
import { createBoundedFetch } from '../http/bounded-fetch.js'
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

export type Identity = {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string | undefined
  readonly scope: string
  readonly signOut: 'provider' | 'here'
}

/** Bounds of requests to the provider. */
export type ProviderOptions = {
  readonly providerMs: number
  readonly providerBytesMax: number
  readonly discoveryMs: number
  readonly signInsInFlightMax: number
}

/** A claim or an error as a text; empty if it is none. */
export const text = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, CLAIM_CHARS_MAX) : ''
/** Longest name or email address that is kept. */
const CLAIM_CHARS_MAX = 256
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
  options: ProviderOptions,
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

/** Asks something of the provider, with its metadata. Rejects with SignInError. */
export type Provider = <T>(work: (config: openid.Configuration) => Promise<T>) => Promise<T>

/** One identity provider. Its metadata is fetched when it is first asked, and now and then. */
export const createProvider = ({
  identity,
  options,
  now,
}: {
  readonly identity: Identity
  readonly options: ProviderOptions
  readonly now: () => number
}): Provider => {
  const fetch = createBoundedFetch(options.providerBytesMax)
  let known:
    { readonly config: Promise<openid.Configuration>; readonly askedAtMs: number } | undefined
  let inFlight = 0

  /**
   * The metadata of the provider. Concurrent callers share one request; a failed one is repeated.
   */
  const configuration = (): Promise<openid.Configuration> => {
    if (known !== undefined && now() - known.askedAtMs < options.discoveryMs) return known.config
    const asked = { config: discover(identity, options, fetch), askedAtMs: now() }
    known = asked
    asked.config.catch(() => {
      if (known === asked) known = undefined
    })
    return asked.config
  }

  return async work => {
    if (inFlight >= options.signInsInFlightMax)
      throw new SignInError('busy', `over ${options.signInsInFlightMax} sign-ins at once`)
    inFlight++
    try {
      return await work(await configuration())
    } catch (error) {
      throw toSignInError(error)
    } finally {
      inFlight--
    }
  }
}

import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Configuration, InteractionResults, Provider } from 'oidc-provider'
import { formatSignInPage, formatSignOutPage } from './page.js'
import { createIdentityStore } from './store.js'
import type { IdentityUser } from './users.js'

/** Options of the identity provider. */
export const defaults = {
  /** Loopback only: without TLS. */
  host: '127.0.0.1',
  /** 0 picks a free port. */
  port: 0,
  /** The form has an email address and a password. */
  formBytesMax: 4_096,
}

export type IdentityProviderOptions = typeof defaults & {
  readonly users: readonly IdentityUser[]
  readonly clientId: string
  readonly clientSecret: string
  /** Allowed redirect URIs; after a sign-out the root of each. */
  readonly redirectUris: readonly string[]
}

/** A running identity provider. */
export type IdentityProvider = {
  readonly issuer: string
  close(): Promise<void>
}

const HOUR_SECONDS = 3_600
const INTERACTION = /^\/interaction\/[A-Za-z0-9_-]{1,64}$/

/** Loads the library without its warning that it supports newer versions of Node only. */
const loadProvider = async () => {
  const { warn } = console
  console.warn = () => {}
  try {
    return (await import('oidc-provider')).Provider
  } finally {
    console.warn = warn
  }
}

const toConfiguration = (options: IdentityProviderOptions): Configuration => {
  // An EC key is generated in a millisecond, an RSA key in some hundred.
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const bySubject = new Map(options.users.map(user => [user.subject, user]))
  return {
    adapter: createIdentityStore(Date.now),
    clients: [
      {
        client_id: options.clientId,
        client_secret: options.clientSecret,
        redirect_uris: [...options.redirectUris],
        post_logout_redirect_uris: options.redirectUris.map(uri => new URL('/', uri).href),
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' }] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_context, subject) => {
      const user = bySubject.get(subject)
      return (
        user && {
          accountId: subject,
          claims: () => ({
            sub: subject,
            email: user.email,
            email_verified: user.isEmailVerified ?? true,
            name: user.name,
          }),
        }
      )
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: true },
      rpInitiatedLogout: {
        logoutSource: (context, form) => {
          context.body = formatSignOutPage(form)
        },
      },
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    // No consent page.
    loadExistingGrant: async ({ oidc }) => {
      const { client, session, provider } = oidc
      const { clientId } = client ?? {}
      const accountId = session?.accountId
      if (clientId === undefined || accountId === undefined) return undefined
      const grant = new provider.Grant({ clientId, accountId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
    renderError: (context, { error, error_description: description = '' }) => {
      context.type = 'text/plain'
      context.body = `${error}: ${description}\n`
    },
    pkce: { required: () => true },
    ttl: {
      AccessToken: HOUR_SECONDS,
      AuthorizationCode: 60,
      Grant: HOUR_SECONDS,
      IdToken: HOUR_SECONDS,
      Interaction: HOUR_SECONDS,
      Session: 24 * HOUR_SECONDS,
    },
  }
}

const readForm = async (request: IncomingMessage, bytesMax: number): Promise<URLSearchParams> => {
  let text = ''
  for await (const chunk of request as AsyncIterable<Buffer>) {
    text += chunk.toString('latin1')
    if (text.length > bytesMax) throw new Error('the form is too long')
  }
  return new URLSearchParams(text)
}

const createInteraction =
  (provider: Provider, { users, formBytesMax }: IdentityProviderOptions) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const details = await provider.interactionDetails(request, response)
    /** Ends another user's session; the library would show a page of its own. */
    const signOut = async (): Promise<void> => {
      if (details.session === undefined) return
      const session = await provider.Session.findByUid(details.session.uid)
      await session?.destroy()
      delete details.session
      await details.save(HOUR_SECONDS)
    }
    const show = (email: string, isWrong: boolean): void => {
      const page = formatSignInPage({ action: request.url ?? '', email, isWrong })
      response.writeHead(isWrong ? 403 : 200, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
      })
      response.end(page)
    }
    if (request.method !== 'POST') return show(users[0]?.email ?? '', false)
    const form = await readForm(request, formBytesMax)
    const finish = (result: InteractionResults): Promise<void> =>
      provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
    if (form.get('choice') === 'cancel')
      return finish({ error: 'access_denied', error_description: 'cancelled by the user' })
    const email = form.get('email') ?? ''
    const user = users.find(user => user.email === email)
    if (user === undefined || user.password !== form.get('password')) return show(email, true)
    if (details.session?.accountId !== user.subject) await signOut()
    return finish({ login: { accountId: user.subject } })
  }

/**
 * The sandbox's OpenID Connect provider, with fixed users and one client. Its library takes a
 * quarter of a second to load, and is loaded with the first request.
 */
export const openIdentityProvider = async (
  given: Partial<typeof defaults> & Omit<IdentityProviderOptions, keyof typeof defaults>,
): Promise<IdentityProvider> => {
  const options = { ...defaults, ...given }
  const server = createServer()
  server.listen(options.port, options.host)
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  const issuer = `http://${options.host}:${port}`

  const load = async () => {
    const Provider = await loadProvider()
    const provider = new Provider(issuer, toConfiguration(options))
    return {
      callback: provider.callback(),
      interact: createInteraction(provider, options),
    }
  }
  let loading: ReturnType<typeof load> | undefined
  const loaded = (): ReturnType<typeof load> => (loading ??= load())

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { callback, interact } = await loaded()
    return INTERACTION.test(request.url ?? '')
      ? interact(request, response)
      : callback(request, response)
  }
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    serve(request, response).catch(() => {
      // The interaction has expired or is unknown.
      if (!response.headersSent) response.writeHead(400, { 'content-type': 'text/plain' })
      response.end('This sign-in has expired. Return to the dashboard and sign in again.\n')
    })
  })
  return {
    issuer,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

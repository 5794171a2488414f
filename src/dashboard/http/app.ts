import { existsSync } from 'node:fs'
import { setImmediate as untilParsed } from 'node:timers/promises'
import type { HttpBindings } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono, type Context, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { compress } from 'hono/compress'
import { methodNotAllowed } from 'hono/method-not-allowed'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { AUDIT_OUTCOMES, type AuditOutcome } from '../../access/audit/actions.js'
import type { AuditEntry } from '../../access/audit/audit-log.js'
import { runFor } from '../../access/journal/checked-journal.js'
import { RpcError } from '../../shared/errors.js'
import { toErrorPage, wantsPage } from './error-page.js'
import { toFailure } from './failure.js'
import { createClientOf, createGuard, peerOf, type Caller, type GuardParts } from './guard.js'
import type { Answer, Call, Route } from './route.js'

type Env = { readonly Bindings: HttpBindings }

export type AppParts = GuardParts & {
  readonly options: GuardParts['options'] & {
    readonly bodyBytesMax: number
    readonly requestsInFlightMax: number
  }
  readonly routes: readonly Route[]
  /** Folder of the built page. */
  readonly pagesDir: string
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>
  /** Adds an entry to the audit log. */
  audit(entry: Omit<AuditEntry, 'atMs'>): void
}

/** File names with a content hash, as vite writes them. */
const HASHED = /-[A-Za-z0-9_-]{8}\.\w+$/

const send = (
  c: Context<Env>,
  { status, body, headers = {}, stream, text: whole }: Answer,
): Response => {
  for (const [name, value] of Object.entries(headers))
    for (const text of [value].flat()) c.header(name, text, { append: true })
  c.status(status as ContentfulStatusCode)
  if (stream !== undefined) return c.body(stream)
  if (whole !== undefined) return c.body(whole)
  return body === undefined ? c.body(null) : c.json(body)
}

/** Sends a failure, as a page where a browser shows it. */
const sendFailure = (c: Context<Env>, failure: Answer): Response => {
  const { method, path } = c.req
  if (!wantsPage({ method, path, accept: c.req.header('accept') ?? '' })) return send(c, failure)
  const { status, headers } = failure
  send(c, { status, ...(headers === undefined ? {} : { headers }) })
  return c.html(toErrorPage(failure))
}

/** The JSON body of a request; undefined if it is empty. */
const readJson = async ({ req }: Context<Env>): Promise<unknown> => {
  const bytes = await req.arrayBuffer()
  if (bytes.byteLength === 0) return undefined
  if (!/^application\/json\s*(;|$)/i.test(req.header('content-type') ?? ''))
    throw new RpcError('contentType', { type: 'application/json' })
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new RpcError('badRequest')
  }
}

/**
 * Redirects a request for `localhost` if the public URL has an address. Cookies of one are not sent
 * to the other, so a sign-in that starts at `localhost` could never end. Behind a proxy the host
 * name is left to the proxy.
 */
const redirectLocalhost =
  ({ protocol, host, port, origin }: URL): MiddlewareHandler<Env> =>
  async (c, next) => {
    const given = c.req.header('host')
    if (protocol !== 'http:' || given !== `localhost:${port}` || host === given) return next()
    return c.redirect(origin + c.req.url.slice(new URL(c.req.url).origin.length), 307)
  }

const limitInFlight = (max: number): MiddlewareHandler<Env> => {
  let inFlight = 0
  return async (_, next) => {
    if (inFlight >= max) throw new RpcError('unavailable')
    inFlight++
    await next().finally(() => inFlight--)
  }
}

/**
 * Whether a part of the request's body is still to come. A proxy may give up on it, and what it
 * sends next on this connection would be taken for the rest.
 */
const isIncomplete = async (incoming: HttpBindings['incoming']): Promise<boolean> => {
  const { headers } = incoming
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
    return false
  // An answer may precede the end of a body that has been received with its head.
  if (!incoming.complete) await untilParsed()
  return !incoming.complete
}

/** Where a failure says that the change is stored, or may be. */
const outcomeOf = (error: unknown): AuditOutcome | undefined =>
  AUDIT_OUTCOMES.find(outcome => error instanceof RpcError && error.name === outcome)

/** The entry of the audit log for what a route has done; undefined if there is none. */
const toEntry = (
  { audit, auditRequest, guard }: Route,
  { admin, apiKey, body, params, peer, session }: Call,
  answer: Pick<Answer, 'body' | 'signedIn'>,
): Omit<AuditEntry, 'atMs'> | undefined => {
  const by = session?.subject ?? answer.signedIn
  if (audit === undefined || (guard === 'open' && by === undefined)) return undefined
  const { accessId, network, location } = { ...Object(answer.body), ...params }
  const { accessId: _access, network: _network, location: _location, ...named } = params
  const asked = auditRequest === undefined ? body : auditRequest(body, answer.body)
  const request = Object.keys(named).length === 0 ? asked : named
  return {
    action: audit,
    by: by ?? null,
    ...(admin === undefined ? {} : { admin }),
    ...(apiKey === undefined ? {} : { apiKey }),
    from: peer,
    ...(accessId === undefined ? {} : { accessId }),
    ...(network === undefined ? {} : { network, location }),
    ...(request === undefined ? {} : { request }),
  }
}

/** Runs a route for its caller, as long as they may. */
const runRoute = async (
  route: Route,
  call: Call,
  { mayChange, recheck }: Caller,
): Promise<Answer> => {
  // The body came after the guard.
  recheck?.()
  if (mayChange === undefined) return route.run(call)
  const { result, hasChanged } = await runFor(mayChange, () => route.run(call))
  // What was changed is said, and what was only read is not.
  if (!hasChanged) recheck?.()
  return result
}

/** The page, the sign-in, the API and the admin API. */
export const createApp = (parts: AppParts): Hono<Env> => {
  const { audit, cookies, headers, log, options, pagesDir, publicUrl, routes } = parts
  const app = new Hono<Env>()
  app.use(async (c, next) => {
    await next()
    for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value)
    if (!c.res.headers.has('Cache-Control')) c.res.headers.set('Cache-Control', 'no-store')
    if (await isIncomplete(c.env.incoming)) c.res.headers.set('Connection', 'close')
  })
  app.use(redirectLocalhost(publicUrl))
  // Only the page: a compressed answer of the API would show by its length what it contains.
  // linear: without a repetition
  const contentTypeFilter = /^(text\/(?!event-stream|csv)|image\/svg)/
  app.use(compress({ encoding: 'gzip', contentTypeFilter }))
  const onFound = (path: string, c: Context) =>
    c.header(
      'Cache-Control',
      path.includes('/assets/') && HASHED.test(path)
        ? 'public, max-age=31536000, immutable'
        : 'no-cache',
    )
  if (existsSync(pagesDir)) app.use(serveStatic<Env>({ root: pagesDir, onFound }))
  app.use(limitInFlight(options.requestsInFlightMax))
  const onError = () => {
    throw new RpcError('bodyTooLarge', { max: options.bodyBytesMax })
  }
  app.use(bodyLimit({ maxSize: options.bodyBytesMax, onError }))
  const onMethodNotAllowed = (c: Context<Env>, methods: readonly string[]) =>
    send(c, {
      ...toFailure(new RpcError('methodNotAllowed')),
      headers: { Allow: methods.toSorted().join(', ') },
    })
  app.use(methodNotAllowed({ app, onMethodNotAllowed }))

  const guard = createGuard(parts)
  const clientOf = createClientOf(parts)
  for (const route of routes)
    app.on(route.method, route.path.replace(/:\w+/g, '$&{[A-Za-z0-9_-]{1,64}}'), async c => {
      const caller = await guard(route, c)
      const call: Call = {
        params: c.req.param() as Readonly<Record<string, string>>,
        search: new URL(c.req.url).search,
        body: route.method === 'GET' ? undefined : await readJson(c),
        session: caller.session,
        access: caller.access,
        apiKey: caller.apiKey,
        admin: caller.admin,
        peer: peerOf(c),
        client: clientOf(c),
        userAgent: c.req.header('user-agent') ?? '',
        cookie: kind => cookies.read(c.req.header('cookie'), kind),
        signIns: () => cookies.signIns(c.req.header('cookie')),
      }
      try {
        const answer = await runRoute(route, call, caller)
        const entry = toEntry(route, call, answer)
        if (entry !== undefined) audit(entry)
        return send(c, answer)
      } catch (error) {
        const [outcome, entry] = [outcomeOf(error), toEntry(route, call, {})]
        if (outcome !== undefined && entry !== undefined) audit({ ...entry, outcome })
        throw error
      }
    })
  // The page itself is a file.
  app.get('/', () => {
    throw new RpcError('pageMissing')
  })
  app.notFound(c => sendFailure(c, toFailure(new RpcError('notFound'))))
  app.onError((error, c) => {
    const isExpected = error instanceof RpcError && error.row.status !== undefined
    // A client that disconnects is no failure of the service.
    if (!isExpected && !c.env.incoming.socket.destroyed)
      log.error({ err: error }, 'a dashboard request failed')
    return sendFailure(c, toFailure(error))
  })
  return app
}

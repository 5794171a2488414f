import type { Log } from '../shared/log.js'
import { REDACTED, type Secret } from '../shared/secret.js'
import { LookOut } from './look-out.js'
import type { Listener } from './attempt.js'
import { Endpoint, type Sent } from './pool.js'
import { UpstreamFailure } from './errors.js'
import type { Options } from './options.js'
import type { UpstreamReply } from './reply.js'

export type { UpstreamReply } from './reply.js'

/** Where an upstream is and how it is asked. */
export type UpstreamOptions = Options & {
  /** In order of preference, each without a query. */
  readonly urls: readonly string[]
  readonly credential?: Secret
}

/** How a request ended: the class of its status, or why there was no answer. */
export const UPSTREAM_OUTCOMES = [
  '2xx',
  '3xx',
  '4xx',
  '429',
  '5xx',
  'unreachable',
  'silent',
  'full',
] as const
export type UpstreamOutcome = (typeof UPSTREAM_OUTCOMES)[number]

export type UpstreamModules = {
  /** Told which hosts failed, never a URL. */
  readonly log: Log
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Told of every request that was sent, pings left out. */
  readonly onEnd?: (outcome: UpstreamOutcome, elapsedMs: number) => void
}

/** One request. Nothing of the client's own but the body. */
export type UpstreamRequest = {
  readonly method: 'GET' | 'POST'
  /** Follows the path of the URL. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Not copied: it must not change before the answer. */
  readonly body?: Uint8Array
  /**
   * Called at most once, before the first byte is written: from then on the outcome is the
   * upstream's.
   */
  readonly onWritten?: () => void
}

/** One upstream, over warm connections. */
export type Upstream = {
  /**
   * Sends a request at most once, and answers whatever whole answer comes. Rejects with
   * UpstreamFailure. Where no connection comes up the next URL is tried; once a
   * byte was written, nothing is.
   */
  send(request: UpstreamRequest): Promise<UpstreamReply>
  inFlight(): number
  /** Cuts off what is under way. */
  close(): Promise<void>
}

const outcomeOf = (status: number): UpstreamOutcome => {
  if (status === 429) return '429'
  if (status < 300) return '2xx'
  if (status < 400) return '3xx'
  return status < 500 ? '4xx' : '5xx'
}

/** One request from its first attempt to its end. */
class Sending implements Listener {
  private readonly upstream: Core
  private readonly sent: Sent
  private readonly request: UpstreamRequest
  private readonly resolve: (reply: UpstreamReply) => void
  private readonly reject: (failure: UpstreamFailure) => void
  private readonly startMs: number
  private readonly tried: Endpoint[] = []

  constructor(
    upstream: Core,
    request: UpstreamRequest,
    [resolve, reject]: [Sending['resolve'], Sending['reject']],
  ) {
    this.upstream = upstream
    this.request = request
    this.sent = upstream.toSent(request)
    this.resolve = resolve
    this.reject = reject
    this.startMs = upstream.begin()
  }

  /** False where every URL was tried. */
  tryNext(): boolean {
    const endpoint = this.upstream.choose(this.tried)
    if (endpoint === undefined) return false
    this.tried.push(endpoint)
    endpoint.send(this.sent, this)
    return true
  }

  onWrite(): void {
    this.request.onWritten?.()
  }

  onReply(reply: UpstreamReply): void {
    this.upstream.end(outcomeOf(reply.status), this.startMs)
    this.resolve(this.upstream.clean(reply))
  }

  onFailure(failure: UpstreamFailure): void {
    const endpoint = this.tried.at(-1)
    if (endpoint !== undefined) this.upstream.rest(endpoint, failure)
    if (failure.kind === 'unreachable' && this.tryNext()) return
    this.upstream.end(failure.kind, this.startMs)
    this.reject(failure)
  }
}

/** What the requests of one upstream share. */
type Core = {
  toSent(request: UpstreamRequest): Sent
  clean(reply: UpstreamReply): UpstreamReply
  choose(tried: readonly Endpoint[]): Endpoint | undefined
  rest(endpoint: Endpoint, failure: UpstreamFailure): void
  /** Answers when that was. */
  begin(): number
  end(outcome: UpstreamOutcome, startMs: number): void
}

/** Adds the credential to whatever is sent. */
const createToSent = ({ credential, credentialIn, credentialName }: UpstreamOptions) => {
  const secret = credential?.reveal() ?? ''
  const isInQuery = credentialIn === 'query'
  const query = `${encodeURIComponent(credentialName)}=${encodeURIComponent(secret)}`
  return (request: UpstreamRequest): Sent => {
    const { method, path, headers } = request
    const body = request.body ?? null
    if (secret === '') return { method, path, headers, body }
    if (!isInQuery) return { method, path, headers: { ...headers, [credentialName]: secret }, body }
    return { method, path: `${path}${path.includes('?') ? '&' : '?'}${query}`, headers, body }
  }
}

/** Takes the credential out of what comes back: some servers repeat what they refuse. */
const createClean = ({ credential }: UpstreamOptions) => {
  const secret = credential?.reveal() ?? ''
  const forms = secret === '' ? [] : [...new Set([secret, encodeURIComponent(secret)])]
  const cleanText = (text: string): string =>
    forms.reduce((cleaned, form) => cleaned.replaceAll(form, REDACTED), text)
  return (reply: UpstreamReply): UpstreamReply => {
    const { body, contentType } = reply
    if (!forms.some(form => body.includes(form) || contentType.includes(form))) return reply
    // latin1 keeps every byte that is none of the credential's.
    const cleaned = Buffer.from(cleanText(body.toString('latin1')), 'latin1')
    return { ...reply, body: cleaned, contentType: cleanText(contentType) }
  }
}

/**
 * Opens an upstream, and its first connections. undici is loaded here: a process without upstreams
 * does without.
 */
export const openUpstream = async (
  options: UpstreamOptions,
  { log, now, onEnd = () => {} }: UpstreamModules,
): Promise<Upstream> => {
  const { Client } = await import('undici')
  const { inFlightMax, pingPath, pingMs, lookOutMicros } = options
  const toSent = createToSent(options)
  const ping = pingPath === '' ? undefined : toSent({ method: 'GET', path: pingPath, headers: {} })
  const endpoints = options.urls.map(url => new Endpoint(url, { options, ping, now, Client }))
  const lookOut = new LookOut({ lookOutMs: lookOutMicros / 1_000, now })
  let inFlight = 0
  let isClosed = false

  const core: Core = {
    toSent,
    clean: createClean(options),
    choose: tried => {
      if (isClosed) return undefined
      const nowMs = now()
      let resting: Endpoint | undefined
      for (const endpoint of endpoints) {
        if (tried.includes(endpoint)) continue
        if (endpoint.restUntilMs <= nowMs) return endpoint
        resting ??= endpoint
      }
      return resting
    },
    rest: (endpoint, { kind, message }) => {
      const nowMs = now()
      if (endpoint.restUntilMs <= nowMs && !isClosed)
        log.warn({ host: endpoint.host, outcome: kind, reason: message }, 'an upstream failed')
      endpoint.restUntilMs = nowMs + options.restMs
    },
    begin: () => {
      inFlight++
      const startMs = now()
      lookOut.begin(startMs)
      return startMs
    },
    end: (outcome, startMs) => {
      inFlight--
      const elapsedMs = now() - startMs
      lookOut.end(elapsedMs)
      onEnd(outcome, elapsedMs)
    },
  }

  const keepWarm = (endpoint: Endpoint): void =>
    endpoint.keepWarm({
      onWrite: () => {},
      // Any status is an answer: the connection is there.
      onReply: () => {
        if (endpoint.restUntilMs > now()) log.info({ host: endpoint.host }, 'an upstream is back')
        endpoint.restUntilMs = 0
      },
      onFailure: failure => core.rest(endpoint, failure),
    })
  const keepAllWarm = (): void => endpoints.forEach(keepWarm)
  const timer = ping === undefined ? undefined : setInterval(keepAllWarm, pingMs)
  if (timer !== undefined) keepAllWarm()

  return {
    send: request => {
      if (isClosed) return Promise.reject(new UpstreamFailure('unreachable', 'closed'))
      if (inFlight >= inFlightMax) {
        onEnd('full', 0)
        return Promise.reject(new UpstreamFailure('full', `${inFlightMax} requests under way`))
      }
      return new Promise((resolve, reject) => {
        new Sending(core, request, [resolve, reject]).tryNext()
      })
    },
    inFlight: () => inFlight,
    close: async () => {
      isClosed = true
      clearInterval(timer)
      await Promise.all(endpoints.map(endpoint => endpoint.close()))
    },
  }
}

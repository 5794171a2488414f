import type { Secret } from '../shared/secret.js'
import { Credential } from './credential.js'
import { UpstreamFailure } from './errors.js'
import { Health, type HealthModules } from './health.js'
import type { Options } from './options.js'
import { ConnectionPool, type Pool, type WireRequest } from './pool.js'
import type { UpstreamReply } from './reply.js'

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
  'no-response',
  'full',
] as const
export type UpstreamOutcome = (typeof UPSTREAM_OUTCOMES)[number]

export type UpstreamModules = HealthModules & {
  /** Called at the end of every request but pings. */
  readonly onEnd?: (outcome: UpstreamOutcome, elapsedMs: number) => void
  /** Absent opens connections over HTTP/1.1. */
  readonly openPool?: (url: string, options: Options, now: () => number) => Pool
}

const openHttp1: NonNullable<UpstreamModules['openPool']> = (...parts) =>
  new ConnectionPool(...parts)

/** One request. The client adds only its credential. */
export type UpstreamRequest = Omit<WireRequest, 'body'> & {
  /** Not copied: it must not change before the answer. */
  readonly body?: Uint8Array
  /**
   * Called at most once, before the first byte is written: from then on the outcome may be unknown.
   */
  readonly onWritten?: () => void
}

/** One upstream, over warm connections. */
export class Upstream {
  private readonly options: UpstreamOptions
  private readonly modules: UpstreamModules
  private readonly pools: readonly Pool[]
  private readonly credential: Credential
  private readonly health: Health
  private readonly pingTimer: NodeJS.Timeout | undefined
  private inFlightCount = 0
  private isClosed = false

  /** Opens its first connections. */
  constructor(options: UpstreamOptions, modules: UpstreamModules) {
    this.options = options
    this.modules = modules
    const { now, openPool = openHttp1 } = modules
    this.pools = options.urls.map(url => openPool(url, options, now))
    this.credential = new Credential(options.credential, options)
    this.health = new Health(options.restMs, modules)
    // HTTP/2 has a frame of its own for it.
    if (options.pingPath === '' && options.httpVersion === '1.1') return
    this.keepWarm()
    this.pingTimer = setInterval(() => this.keepWarm(), options.pingMs)
  }

  /**
   * Sends a request at most once and returns the whole answer, whatever its status. Rejects with
   * UpstreamFailure. The next URL is tried only while no byte was written.
   */
  async send({ onWritten = () => {}, ...request }: UpstreamRequest): Promise<UpstreamReply> {
    const { now, onEnd = () => {} } = this.modules
    const { inFlightMax } = this.options
    if (this.isClosed) throw new UpstreamFailure('unreachable', 'closed')
    if (this.inFlightCount >= inFlightMax) {
      onEnd('full', 0)
      throw new UpstreamFailure('full', `${inFlightMax} requests in flight`)
    }
    const startMs = now()
    let outcome: UpstreamOutcome = 'no-response'
    this.inFlightCount++
    try {
      const reply = await this.sendToFirst({ body: null, ...request }, onWritten)
      outcome = outcomeOf(reply.status)
      return await this.credential.redact(reply)
    } catch (failure) {
      if (failure instanceof UpstreamFailure) outcome = failure.kind
      throw failure
    } finally {
      this.inFlightCount--
      onEnd(outcome, now() - startMs)
    }
  }

  /** False while each URL has failed within `restMs`, and was not reached since. */
  isReachable(): boolean {
    return this.pools.some(pool => !this.health.isResting(pool))
  }

  inFlight(): number {
    return this.inFlightCount
  }

  /** Aborts what is in flight. */
  async close(): Promise<void> {
    this.isClosed = true
    clearInterval(this.pingTimer)
    await Promise.all(this.pools.map(pool => pool.close()))
  }

  /** Sends to the first URL that takes the request. */
  private async sendToFirst(request: WireRequest, onWritten: () => void): Promise<UpstreamReply> {
    const wire = this.credential.addTo(request)
    let left = this.pools
    for (;;) {
      const pool = this.health.choose(left)
      if (pool === undefined) throw new UpstreamFailure('unreachable', 'no URL')
      left = left.filter(other => other !== pool)
      try {
        return await pool.send(wire, onWritten)
      } catch (failure) {
        this.onFailure(pool, failure)
        const isUnreachable = failure instanceof UpstreamFailure && failure.kind === 'unreachable'
        if (!isUnreachable || left.length === 0 || this.isClosed) throw failure
      }
    }
  }

  private onFailure(pool: Pool, failure: unknown): void {
    if (failure instanceof UpstreamFailure && !this.isClosed) this.health.onFailure(pool, failure)
  }

  private keepWarm(): void {
    const { pingPath: path } = this.options
    const request = { method: 'GET', path, headers: {}, body: null } as const
    const ping = path === '' ? undefined : this.credential.addTo(request)
    for (const pool of this.pools)
      pool.keepWarm(ping).then(
        // Any status is an answer.
        isReachable => isReachable && this.health.onReachable(pool),
        failure => this.onFailure(pool, failure),
      )
  }
}

const outcomeOf = (status: number): UpstreamOutcome => {
  if (status === 429) return '429'
  if (status < 300) return '2xx'
  if (status < 400) return '3xx'
  return status < 500 ? '4xx' : '5xx'
}

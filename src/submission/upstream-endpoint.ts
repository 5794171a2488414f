import type { Client } from 'undici'
import { Deadlines } from './deadlines.js'
import { Attempt, type AttemptBounds, type Listener } from './upstream-attempt.js'
import { createConnect } from './upstream-connect.js'
import type { Options } from './upstream-options.js'

/** One request as it goes over a connection. */
export type Sent = {
  readonly method: 'GET' | 'POST'
  /** Follows the path of the URL; the credential may be in its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | null
}

/** One connection, for one request at a time. */
class Connection {
  readonly client: Client
  lastUsedMs = 0
  private readonly endpoint: Endpoint

  constructor(endpoint: Endpoint, client: Client) {
    this.endpoint = endpoint
    this.client = client
    // Closed while idle: there is nothing to keep. In use, its attempt hears of it.
    client.on('disconnect', () => endpoint.forgetIdle(this))
  }

  release(isBroken: boolean): void {
    this.endpoint.takeBack(this, isBroken)
  }
}

/** What every endpoint of an upstream has alike. */
export type EndpointParts = {
  readonly options: Options
  readonly ping: Sent | undefined
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly Client: typeof Client
}

/**
 * One URL and its connections. The one used last is used next, so that under little traffic the
 * others close by themselves. undici's own pool would queue, and a ping on it might hold every
 * connection that is open.
 */
export class Endpoint {
  readonly host: string
  /** Monotonic milliseconds: it failed, and comes last until then. */
  restUntilMs = 0
  private readonly parts: EndpointParts
  private readonly origin: string
  private readonly basePath: string
  private readonly bounds: AttemptBounds
  private readonly connect: ReturnType<typeof createConnect>
  private readonly all = new Set<Connection>()
  private readonly idle: Connection[] = []
  private pingsLeft = 0

  constructor(url: string, parts: EndpointParts) {
    const { origin, host, pathname } = new URL(url)
    this.parts = parts
    this.host = host
    this.origin = origin
    this.basePath = pathname.replace(/\/$/, '')
    const { answerMs, replyBytesMax } = parts.options
    // No timer of theirs keeps a process alive: the connection does.
    const setTimer = (run: () => void, inMs: number) => setTimeout(run, inMs).unref()
    const deadlines = new Deadlines(answerMs, { now: parts.now, setTimer })
    this.bounds = { answerMs, replyBytesMax, deadlines }
    this.connect = createConnect(parts.options.connectMs)
  }

  /** A connection is open and free. */
  get isWarm(): boolean {
    return this.idle.length > 0
  }

  send(sent: Sent, listener: Listener): void {
    this.dispatch(this.idle.pop() ?? this.open(), sent, listener)
  }

  /**
   * Asks each connection that shall stay open, one after the other: the rest is free for requests
   * meanwhile.
   */
  keepWarm(listener: Listener): void {
    if (this.pingsLeft > 0) return
    this.pingsLeft = this.parts.options.warmCount
    this.pingNext(listener)
  }

  async close(): Promise<void> {
    const all = [...this.all]
    this.all.clear()
    this.idle.length = 0
    await Promise.all(all.map(({ client }) => client.destroy()))
  }

  takeBack(connection: Connection, isBroken: boolean): void {
    if (!this.all.has(connection)) return
    connection.lastUsedMs = this.parts.now()
    if (!isBroken) this.idle.push(connection)
    else this.drop(connection)
  }

  forgetIdle(connection: Connection): void {
    const index = this.idle.indexOf(connection)
    if (index === -1) return
    this.idle.splice(index, 1)
    this.drop(connection)
  }

  private drop(connection: Connection): void {
    this.all.delete(connection)
    // Nothing is under way on it, so nobody waits for this.
    void connection.client.destroy()
  }

  private open(): Connection {
    const { Client, options } = this.parts
    const client = new Client(this.origin, {
      connect: this.connect,
      // What waits for longer than our own deadlines is ended by them.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: options.idleMs,
      keepAliveMaxTimeout: options.idleMs,
      pipelining: 1,
    })
    const connection = new Connection(this, client)
    this.all.add(connection)
    return connection
  }

  private dispatch(connection: Connection, sent: Sent, listener: Listener): void {
    const { method, path, headers, body } = sent
    connection.client.dispatch(
      { method, path: this.toPath(path), headers, body },
      new Attempt(this.bounds, connection, listener),
    )
  }

  /** Where the URL has no path, the one that follows it may be empty or a query. */
  private toPath(path: string): string {
    const whole = this.basePath + path
    return whole.startsWith('/') ? whole : `/${whole}`
  }

  private pingNext(listener: Listener): void {
    const { ping, options, now } = this.parts
    const connection = this.dueForPing(now() - options.pingMs / 2)
    if (ping === undefined || this.pingsLeft === 0 || connection === undefined) {
      this.pingsLeft = 0
      return
    }
    this.pingsLeft--
    this.dispatch(connection, ping, {
      onWrite: () => listener.onWrite(),
      onHeldBack: () => listener.onHeldBack(),
      onReply: reply => {
        listener.onReply(reply)
        this.pingNext(listener)
      },
      onFailure: failure => {
        this.pingsLeft = 0
        listener.onFailure(failure)
      },
    })
  }

  /**
   * A new connection while there are too few, or one of those used last that nobody used of late.
   */
  private dueForPing(usedBeforeMs: number): Connection | undefined {
    const { warmCount } = this.parts.options
    if (this.all.size < warmCount) return this.open()
    for (let index = Math.max(0, this.idle.length - warmCount); index < this.idle.length; index++) {
      const connection = this.idle[index]
      if (connection === undefined || connection.lastUsedMs > usedBeforeMs) continue
      this.idle.splice(index, 1)
      return connection
    }
    return undefined
  }
}

import type { Client, Dispatcher } from 'undici'
import { Deadlines } from './deadlines.js'
import { Attempt, type AttemptBounds, type Listener } from './attempt.js'
import type { LookAhead } from './short-way.js'
import { createConnect } from './connect.js'
import type { Options } from './options.js'
import { createReadWhole } from './whole-answer.js'

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
  private attempt: Attempt | undefined
  private readOn: (() => void) | undefined

  constructor(endpoint: Endpoint, newClient: (lookAhead: LookAhead) => Client) {
    this.endpoint = endpoint
    this.client = newClient((bytes, readOn) => {
      if (this.attempt?.readAhead(bytes) !== true) return false
      this.readOn = readOn
      endpoint.noteAnswered(this)
      return true
    })
    // Closed while idle: there is nothing to keep. In use, its attempt hears of it.
    this.client.on('disconnect', () => endpoint.forgetIdle(this))
  }

  dispatch(request: Dispatcher.DispatchOptions, attempt: Attempt): void {
    this.attempt = attempt
    this.client.dispatch(request, attempt)
  }

  /** Has undici read an answer that was told ahead of it: then the connection is free. */
  catchUp(): void {
    this.readOn?.()
  }

  release(isBroken: boolean): void {
    this.attempt = undefined
    this.readOn = undefined
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
  private readonly all = new Set<Connection>()
  private readonly idle: Connection[] = []
  /** Answered, and not read to the end by undici: free as soon as it has. */
  private readonly answered = new Set<Connection>()
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
    this.bounds = { answerMs, replyBytesMax, deadlines, readWhole: createReadWhole() }
  }

  send(sent: Sent, listener: Listener): void {
    this.dispatch(this.takeIdle() ?? this.open(), sent, listener)
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
    this.answered.clear()
    await Promise.all(all.map(({ client }) => client.destroy()))
  }

  noteAnswered(connection: Connection): void {
    this.answered.add(connection)
  }

  takeBack(connection: Connection, isBroken: boolean): void {
    this.answered.delete(connection)
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

  private takeIdle(): Connection | undefined {
    for (const connection of this.answered) {
      if (this.idle.length > 0) break
      connection.catchUp()
    }
    return this.idle.pop()
  }

  private open(): Connection {
    const { Client, options } = this.parts
    const newClient = (lookAhead: LookAhead): Client =>
      new Client(this.origin, {
        connect: createConnect(options.connectMs, lookAhead),
        // What waits for longer than our own deadlines is ended by them.
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: options.idleMs,
        keepAliveMaxTimeout: options.idleMs,
        pipelining: 1,
      })
    const connection = new Connection(this, newClient)
    this.all.add(connection)
    return connection
  }

  private dispatch(connection: Connection, sent: Sent, listener: Listener): void {
    const { method, path, headers, body } = sent
    connection.dispatch(
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

import { Client } from 'undici'
import { Attempt } from './attempt.js'
import { UpstreamFailure } from './errors.js'
import type { Options } from './options.js'
import type { UpstreamReply } from './reply.js'

/** One request as it is written to a connection. */
export type WireRequest = {
  readonly method: 'GET' | 'POST'
  /** Follows the path of the URL. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | null
}

/** Where the connections to a URL lead, and what their requests ask for. */
export type Address = {
  readonly host: string
  readonly origin: string
  /** The whole path of a request. */
  readonly toPath: (path: string) => string
}

export const toAddress = (url: string): Address => {
  const { origin, host, pathname } = new URL(url)
  const basePath = pathname.replace(/\/$/, '')
  // If the URL has no path, the one that follows it may be empty or a query.
  const toPath = (path: string): string => {
    const whole = basePath + path
    return whole.startsWith('/') ? whole : `/${whole}`
  }
  return { host, origin, toPath }
}

/** What an upstream needs of its connections to one URL, whatever they speak. */
export type Pool = Pick<ConnectionPool, 'host' | 'send' | 'keepWarm' | 'close'>

/** A connection, for one request at a time. */
type Connection = {
  readonly client: Client
  lastUsedMs: number
  /**
   * The event loop has not polled the socket since the last answer: an end of the connection
   * that came with the answer is not known yet.
   */
  isSettling: boolean
  /** Starts the request that waits for that. */
  start: (() => void) | undefined
}

/**
 * The connections to one URL. The one used last is used next, so that under little traffic the
 * others become idle and close. undici's own Pool would queue requests, and pings on it might
 * occupy every open connection.
 */
export class ConnectionPool {
  readonly host: string
  private readonly options: Options
  /** Monotonic milliseconds. */
  private readonly now: () => number
  private readonly address: Address
  private readonly all = new Set<Connection>()
  private readonly idle: Connection[] = []
  private isPinging = false

  constructor(url: string, options: Options, now: () => number) {
    this.address = toAddress(url)
    this.host = this.address.host
    this.options = options
    this.now = now
  }

  /**
   * Rejects with an UpstreamFailure. `onWrite` is called right before the first byte is written.
   */
  send(request: WireRequest, onWrite: () => void): Promise<UpstreamReply> {
    return this.sendOn(this.takeIdle() ?? this.open(), request, onWrite)
  }

  /**
   * Pings the connections that shall stay open, one after the other: the rest is free for requests
   * meanwhile. False where none was due. Rejects with an UpstreamFailure.
   */
  async keepWarm(ping: WireRequest | undefined): Promise<boolean> {
    if (this.isPinging || ping === undefined) return false
    this.isPinging = true
    const usedBeforeMs = this.now() - this.options.pingMs / 2
    let pingCount = 0
    try {
      for (; pingCount < this.options.warmCount; pingCount++) {
        const connection = this.takeDue(usedBeforeMs)
        if (connection === undefined) break
        await this.sendOn(connection, ping, () => {})
      }
    } finally {
      this.isPinging = false
    }
    return pingCount > 0
  }

  async close(): Promise<void> {
    const all = [...this.all]
    this.all.clear()
    this.idle.length = 0
    await Promise.all(all.map(({ client }) => client.destroy()))
  }

  private sendOn(
    connection: Connection,
    { method, path, headers, body }: WireRequest,
    onWrite: () => void,
  ): Promise<UpstreamReply> {
    return new Promise((resolve, reject) => {
      const onEnd = (outcome: UpstreamReply | UpstreamFailure): void => {
        const isBroken = outcome instanceof UpstreamFailure
        this.takeBack(connection, isBroken)
        if (isBroken) reject(outcome)
        else resolve(outcome)
      }
      const attempt = new Attempt(this.options, onWrite, onEnd)
      const asked = { ...headers, 'accept-encoding': 'identity' }
      const options = { method, path: this.address.toPath(path), headers: asked, body }
      const start = (): void => void connection.client.dispatch(options, attempt)
      if (connection.isSettling) connection.start = start
      else start()
    })
  }

  /** The settled one that was used last, or the one used last where none is settled. */
  private takeIdle(): Connection | undefined {
    const index = this.idle.findLastIndex(({ isSettling }) => !isSettling)
    return index === -1 ? this.idle.pop() : this.idle.splice(index, 1)[0]
  }

  private takeBack(connection: Connection, isBroken: boolean): void {
    if (!this.all.has(connection)) return
    connection.lastUsedMs = this.now()
    if (isBroken) return this.drop(connection)
    this.idle.push(connection)
    settle(connection)
  }

  private drop(connection: Connection): void {
    this.all.delete(connection)
    // No request is in flight on it.
    void connection.client.destroy()
  }

  private open(): Connection {
    const { connectMs, idleMs } = this.options
    const client = new Client(this.address.origin, {
      connect: { timeout: connectMs },
      // `answerMs` bounds the whole answer.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
      pipelining: 1,
    })
    const connection: Connection = {
      client,
      lastUsedMs: 0,
      isSettling: false,
      start: undefined,
    }
    this.all.add(connection)
    // A connection in use reports its end to its attempt.
    client.on('disconnect', () => {
      const index = this.idle.indexOf(connection)
      if (index === -1) return
      this.idle.splice(index, 1)
      this.drop(connection)
    })
    return connection
  }

  /** A new connection while there are too few, or one of those used last that is due for a ping. */
  private takeDue(usedBeforeMs: number): Connection | undefined {
    const { warmCount } = this.options
    if (this.all.size < warmCount) return this.open()
    const from = Math.max(0, this.idle.length - warmCount)
    const index = this.idle.findIndex(
      ({ lastUsedMs }, at) => at >= from && lastUsedMs <= usedBeforeMs,
    )
    return index === -1 ? undefined : this.idle.splice(index, 1)[0]
  }
}

/**
 * Delays a request until the sockets were polled once more. undici waits for the end of this
 * turn of the event loop only, and the end of a connection is read one turn after an answer that it
 * came with: a request that is written in between is lost, and its outcome unknown.
 */
const settle = (connection: Connection): void => {
  connection.isSettling = true
  const onNextTurn = (): void => {
    connection.isSettling = false
    const { start } = connection
    connection.start = undefined
    start?.()
  }
  setImmediate(() => setImmediate(onNextTurn))
}

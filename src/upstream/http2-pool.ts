import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { Attempt } from './attempt.js'
import { reasonOf, UpstreamFailure } from './errors.js'
import type { Options } from './options.js'
import { type Address, type Pool, toAddress, type WireRequest } from './pool.js'
import type { UpstreamReply } from './reply.js'

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants

/** Connections that take new requests: the second is opened when the first has no stream left. */
const CONNECTIONS_MAX = 2

/** The largest id of a stream, and what the first of two GOAWAYs of a graceful end has. */
const LAST_STREAM_ID_MAX = 2 ** 31 - 1

/** The peer promises that it has not processed it (RFC 9113 §8.7). */
const refusedByPeer = (): UpstreamFailure =>
  new UpstreamFailure('full', 'the peer did not process the request')

type Connection = {
  readonly session: ClientHttp2Session
  /** Once the settings of the peer are known. Rejects with an UpstreamFailure. */
  readonly whenReady: Promise<void>
  isReady: boolean
  streams: number
  /** The peer has not processed streams above it. */
  lastStreamId: number
  /** Of the last frame that answers something. */
  receivedMs: number
}

/**
 * The connections to one URL over HTTP/2, each for as many requests as the peer grants at once.
 * With TLS by ALPN, else with prior knowledge (RFC 9113 §3).
 */
export class Http2Pool implements Pool {
  readonly host: string
  private readonly options: Options
  /** Monotonic milliseconds. */
  private readonly now: () => number
  private readonly address: Address
  /** Those that take new requests. */
  private readonly open = new Set<Connection>()
  /** Those whose last answers are awaited. */
  private readonly ending = new Set<Connection>()
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
  async send(request: WireRequest, onWrite: () => void): Promise<UpstreamReply> {
    // What waits for a new connection finds its streams taken where more have waited.
    for (let opened = 0; opened <= CONNECTIONS_MAX; opened++) {
      const free = this.findFree()
      if (free !== undefined) return this.sendOn(free, request, onWrite)
      const opening = [...this.open].find(({ isReady }) => !isReady)
      if (opening === undefined && this.open.size >= CONNECTIONS_MAX) break
      await (opening ?? this.connect()).whenReady
    }
    throw new UpstreamFailure('full', 'no stream is free')
  }

  /**
   * Sends `ping`, or a PING frame where there is none or no stream is free for it. Opens the first
   * connection.
   * Rejects with an UpstreamFailure.
   */
  async keepWarm(ping: WireRequest | undefined): Promise<boolean> {
    if (this.isPinging) return false
    this.isPinging = true
    try {
      const [first] = this.open
      const connection = first ?? this.connect()
      await connection.whenReady
      const free = this.findFree()
      if (ping === undefined || free === undefined) await this.pingOn(connection)
      else await this.sendOn(free, ping, () => {})
      return true
    } finally {
      this.isPinging = false
    }
  }

  close(): Promise<void> {
    for (const { session } of [...this.open, ...this.ending]) session.destroy()
    this.open.clear()
    this.ending.clear()
    return Promise.resolve()
  }

  private findFree(): Connection | undefined {
    for (const connection of this.open) {
      const { isReady, session, streams } = connection
      if (!isReady || session.closed || session.destroyed) continue
      // nghttp2 would keep more to itself, and write them when others have ended.
      if (streams < (session.remoteSettings.maxConcurrentStreams ?? Infinity)) return connection
    }
    return undefined
  }

  private connect(): Connection {
    const { connectMs } = this.options
    const session = connect(this.address.origin, { settings: { enablePush: false } })
    let reason = 'the connection has ended'
    const whenReady = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        reason = `no HTTP/2 in ${connectMs} ms`
        session.destroy()
      }, connectMs)
      session.once('remoteSettings', () => {
        clearTimeout(timer)
        connection.isReady = true
        connection.receivedMs = this.now()
        resolve()
      })
      session.once('close', () => {
        clearTimeout(timer)
        this.open.delete(connection)
        this.ending.delete(connection)
        reject(new UpstreamFailure('unreachable', reason))
      })
    })
    // A connection that nothing waits for may fail.
    whenReady.catch(() => {})
    const connection: Connection = {
      session,
      whenReady,
      isReady: false,
      streams: 0,
      lastStreamId: LAST_STREAM_ID_MAX,
      receivedMs: -Infinity,
    }
    this.open.add(connection)
    session.on('error', error => (reason = reasonOf(error)))
    session.on('goaway', (_code, lastStreamId) => {
      connection.lastStreamId = lastStreamId
      this.end(connection)
    })
    return connection
  }

  /** It takes no further requests. Those in flight end by their own bound. */
  private end(connection: Connection): void {
    if (!this.open.delete(connection)) return
    this.ending.add(connection)
    // Not within a callback of the session, of which some are within nghttp2.
    setImmediate(() => connection.session.close())
    setTimeout(() => connection.session.destroy(), this.options.answerMs).unref()
  }

  private sendOn(
    connection: Connection,
    { method, path, headers, body }: WireRequest,
    onWrite: () => void,
  ): Promise<UpstreamReply> {
    const { session } = connection
    return new Promise((resolve, reject) => {
      const attempt = new Attempt(this.options, onWrite, outcome => {
        if (outcome instanceof UpstreamFailure) reject(outcome)
        else resolve(outcome)
      })
      const startMs = this.now()
      let stream: ClientHttp2Stream | undefined
      const controller = {
        abort: (reason: Error): void => {
          stream?.close(NGHTTP2_CANCEL)
          stream?.destroy()
          attempt.onResponseError(controller, reason)
          // Nothing has come since: not only this request may be lost.
          if (connection.receivedMs < startMs) this.end(connection)
        },
      }
      attempt.onRequestStart(controller)
      const head = {
        ...headers,
        ':method': method,
        ':path': this.address.toPath(path),
        'accept-encoding': 'identity',
        ...(body !== null && { 'content-length': body.byteLength }),
      }
      try {
        stream = session.request(head, { endStream: body === null })
      } catch (error) {
        attempt.onResponseError(controller, new UpstreamFailure('unreachable', reasonOf(error)))
        return
      }
      connection.streams++
      this.read(connection, stream, attempt, controller)
      if (body !== null) stream.end(body)
    })
  }

  /** Has the answer of a stream read, and its end. */
  private read(
    connection: Connection,
    stream: ClientHttp2Stream,
    attempt: Attempt,
    controller: { abort: (reason: Error) => void },
  ): void {
    let failure: unknown
    stream.on('response', headers => {
      connection.receivedMs = this.now()
      attempt.onResponseStart(controller, headers[':status'] ?? 0, headers)
    })
    stream.on('data', (chunk: Buffer) => attempt.onResponseData(controller, chunk))
    stream.on('end', () => {
      // A stream that is reset ends too.
      if ((stream.rstCode ?? 0) === NGHTTP2_NO_ERROR && !stream.destroyed) attempt.onResponseEnd()
    })
    stream.on('error', error => (failure = error))
    stream.on('close', () => {
      connection.streams--
      const { id = 0, rstCode } = stream
      const isRefused = rstCode === NGHTTP2_REFUSED_STREAM || id > connection.lastStreamId
      const ended = isRefused ? refusedByPeer() : (failure ?? new Error('the stream was closed'))
      // Counts where there was no whole answer.
      attempt.onResponseError(controller, ended)
    })
  }

  private pingOn(connection: Connection): Promise<void> {
    const { session } = connection
    const { connectMs } = this.options
    return new Promise((resolve, reject) => {
      const fail = (reason: string): void => {
        clearTimeout(timer)
        reject(new UpstreamFailure('unreachable', reason))
      }
      const timer = setTimeout(() => {
        fail(`no answer to a PING in ${connectMs} ms`)
        session.destroy()
      }, connectMs)
      const onAnswer = (error: Error | null): void => {
        if (error !== null) return fail(reasonOf(error))
        clearTimeout(timer)
        connection.receivedMs = this.now()
        resolve()
      }
      try {
        if (!session.ping(onAnswer)) fail('a PING was not sent')
      } catch (error) {
        fail(reasonOf(error))
      }
    })
  }
}

import { createHash } from 'node:crypto'
import { RpcError } from '../../shared/errors.js'
import type { Options } from './options.js'

/** Whose stream it is. */
export type StreamSession = {
  /** The id that only the browser has. */
  readonly id: string
  readonly subject: string
}

export type EventStreamsParts = {
  readonly options: Options
  /** What the person has now; a change of the text is reported. */
  readonly stateOf: (subject: string) => string
  /** Whether a session is valid, without counting as a use of it. */
  readonly isValid: (id: string) => boolean
  /** Milliseconds of a clock that nobody sets. */
  readonly elapsed: () => number
  readonly onError: (error: unknown) => void
}

type Stream = {
  readonly session: StreamSession
  readonly controller: ReadableStreamDefaultController<Uint8Array>
  /** Of what was last sent. */
  digest: string
  sentMs: number
}

/** After this time a browser connects again. */
const RETRY_MS = 1_000

const digestOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 22)

const formatEvent = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`
/** A comment. */
const HEARTBEAT = ':\n\n'

/**
 * Server-sent events to pages: `accesses` at the start and after each change, with a digest of what
 * the person has, and `signed-out` before the end of a stream whose session has ended.
 */
export class EventStreams {
  private readonly parts: EventStreamsParts
  private readonly streams = new Set<Stream>()
  private readonly timer: NodeJS.Timeout
  private isClosed = false

  constructor(parts: EventStreamsParts) {
    this.parts = parts
    this.timer = setInterval(() => this.check(), parts.options.checkMs)
  }

  /** Opens a stream of a valid session. Throws if there are too many. */
  open(session: StreamSession): ReadableStream<Uint8Array> {
    const { options, elapsed } = this.parts
    const own = [...this.streams].filter(({ session: { id } }) => id === session.id)
    const isFull =
      this.streams.size >= options.streamsMax || own.length >= options.streamsPerSessionMax
    if (this.isClosed || isFull) throw new RpcError('unavailable')
    const digest = this.digestOf(session.subject)
    let stream: Stream | undefined
    return new ReadableStream<Uint8Array>(
      {
        start: controller => {
          stream = { session, controller, digest, sentMs: elapsed() }
          this.streams.add(stream)
          this.send(stream, `retry: ${RETRY_MS}\n${formatEvent('accesses', digest)}`)
        },
        cancel: () => {
          if (stream !== undefined) this.streams.delete(stream)
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: options.waitingBytesMax }),
    )
  }

  /** Ends every stream; their pages connect to the next process. */
  close(): void {
    this.isClosed = true
    clearInterval(this.timer)
    for (const stream of this.streams) this.end(stream)
  }

  private digestOf(subject: string): string {
    return digestOf(this.parts.stateOf(subject))
  }

  private check(): void {
    const { elapsed, isValid, onError, options } = this.parts
    try {
      const digests = new Map<string, string>()
      for (const stream of this.streams) {
        const { id, subject } = stream.session
        if (!isValid(id)) {
          this.send(stream, formatEvent('signed-out', ''))
          this.end(stream)
          continue
        }
        const digest = digests.get(subject) ?? this.digestOf(subject)
        digests.set(subject, digest)
        if (stream.digest !== digest) {
          stream.digest = digest
          this.send(stream, formatEvent('accesses', digest))
        } else if (elapsed() - stream.sentMs >= options.heartbeatMs) this.send(stream, HEARTBEAT)
      }
    } catch (error) {
      onError(error)
    }
  }

  private send(stream: Stream, text: string): void {
    const { controller } = stream
    if ((controller.desiredSize ?? 0) < text.length) {
      this.streams.delete(stream)
      controller.error(new Error('the page takes no events'))
      return
    }
    controller.enqueue(Buffer.from(text))
    stream.sentMs = this.parts.elapsed()
  }

  private end(stream: Stream): void {
    if (this.streams.delete(stream)) stream.controller.close()
  }
}

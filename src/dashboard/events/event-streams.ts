import { createHash } from 'node:crypto'
import type { AccessPerson } from '../../access/members/members.js'
import { RpcError } from '../../shared/errors.js'
import type { Options } from './options.js'
import type { Watch } from './watches.js'

/** Whose stream it is. */
export type StreamSession = AccessPerson & {
  /** The id that only the browser has. */
  readonly id: string
}

export type EventStreamsParts = {
  readonly options: Options
  /** What the person has now; a change of the text is reported. */
  readonly stateOf: (person: AccessPerson) => string
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
  watched: readonly Watched[]
  /** Bytes of an answer that the page has not taken yet, as far as is known. */
  answerBytes: number
  isReading: boolean
}

type Watched = IndexedWatch & { nextMs: number; digest: string }

/** Its position among those that the page asked for. */
export type IndexedWatch = Watch & { readonly index: number }

/** After this time a browser connects again. */
const RETRY_MS = 1_000

const digestOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 22)

const formatEvent = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`
/** A comment. */
const HEARTBEAT = ':\n\n'

/**
 * Server-sent events to pages: `accesses` at the start and after each change, with a digest of what
 * the person has; `watching` with the positions of the paths whose answers are sent, and `answer`
 * with each that has changed; `signed-out` before the end of a stream whose session has ended.
 */
export class EventStreams {
  private readonly parts: EventStreamsParts
  private readonly streams = new Set<Stream>()
  private readonly timer: NodeJS.Timeout
  private isClosed = false
  private reads = 0

  constructor(parts: EventStreamsParts) {
    this.parts = parts
    this.timer = setInterval(() => this.check(), parts.options.checkMs)
  }

  /** Opens a stream of a valid session. Throws if there are too many. */
  open(session: StreamSession, watches: readonly IndexedWatch[] = []): ReadableStream<Uint8Array> {
    const { options, elapsed } = this.parts
    const watched = watches.slice(0, options.watchedMax).map(watch =>
      // The page has just asked for them itself.
      Object.assign(watch, { nextMs: elapsed() + watch.everyMs, digest: '' }),
    )
    const own = [...this.streams].filter(({ session: { id } }) => id === session.id)
    const isFull =
      this.streams.size >= options.streamsMax || own.length >= options.streamsPerSessionMax
    if (this.isClosed || isFull) throw new RpcError('unavailable')
    const digest = this.digestOf(session)
    let stream: Stream | undefined
    return new ReadableStream<Uint8Array>(
      {
        start: controller => {
          const sent = { digest, sentMs: elapsed(), answerBytes: 0 }
          stream = { session, controller, watched, isReading: false, ...sent }
          this.streams.add(stream)
          this.send(stream, `retry: ${RETRY_MS}\n${formatEvent('accesses', digest)}`)
          if (watched.length > 0) this.sendWatching(stream)
        },
        cancel: () => {
          if (stream !== undefined) this.streams.delete(stream)
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: this.roomBytes }),
    )
  }

  /** Ends every stream; their pages connect to the next process. */
  close(): void {
    this.isClosed = true
    clearInterval(this.timer)
    for (const stream of this.streams) this.end(stream)
  }

  private digestOf(person: AccessPerson): string {
    return digestOf(this.parts.stateOf(person))
  }

  private check(): void {
    const { elapsed, isValid, onError, options } = this.parts
    try {
      const digests = new Map<string, string>()
      for (const stream of this.streams) {
        const { id, subject, verifiedEmail } = stream.session
        if (!isValid(id)) {
          this.send(stream, formatEvent('signed-out', ''))
          this.end(stream)
          continue
        }
        // The address may have changed between two sign-ins.
        const person = JSON.stringify([subject, verifiedEmail])
        const digest = digests.get(person) ?? this.digestOf(stream.session)
        digests.set(person, digest)
        if (stream.digest !== digest) {
          stream.digest = digest
          this.send(stream, formatEvent('accesses', digest))
        } else if (elapsed() - stream.sentMs >= options.heartbeatMs) this.send(stream, HEARTBEAT)
        if (!stream.isReading) void this.sendAnswers(stream)
      }
    } catch (error) {
      onError(error)
    }
  }

  private get roomBytes(): number {
    const { waitingBytesMax, watchedBytesMax } = this.parts.options
    return waitingBytesMax + watchedBytesMax
  }

  private send(stream: Stream, text: string): void {
    const { controller } = stream
    const waitingBytes = this.roomBytes - (controller.desiredSize ?? 0)
    if (waitingBytes === 0) stream.answerBytes = 0
    const otherBytes = waitingBytes - stream.answerBytes + text.length
    if (otherBytes > this.parts.options.waitingBytesMax) {
      this.streams.delete(stream)
      controller.error(new Error('the page takes no events'))
      return
    }
    controller.enqueue(Buffer.from(text))
    stream.sentMs = this.parts.elapsed()
  }

  private sendWatching(stream: Stream): void {
    const positions = stream.watched.map(({ index }) => index)
    this.send(stream, formatEvent('watching', JSON.stringify(positions)))
  }

  /** Reads those answers of a page that are due, one after the other. */
  private async sendAnswers(stream: Stream): Promise<void> {
    const { elapsed, options } = this.parts
    stream.isReading = true
    for (const watched of stream.watched) {
      if (watched.nextMs > elapsed() || this.reads >= options.readsMax) continue
      // A page that is slow to take an answer gets the next one later.
      if (stream.controller.desiredSize !== this.roomBytes) break
      watched.nextMs = elapsed() + watched.everyMs
      this.reads += 1
      const body = await watched.read().catch(() => undefined)
      this.reads -= 1
      if (!this.streams.has(stream)) return
      this.sendAnswer(stream, watched, body)
    }
    stream.isReading = false
  }

  /** Sends an answer if it has changed. One that failed or is too long is not watched any more. */
  private sendAnswer(stream: Stream, watched: Watched, body: unknown): void {
    const { elapsed, options } = this.parts
    const event = formatEvent('answer', JSON.stringify({ path: watched.path, body }))
    const bytes = Buffer.from(event)
    if (body === undefined || bytes.length > options.watchedBytesMax) {
      stream.watched = stream.watched.filter(one => one !== watched)
      this.sendWatching(stream)
      return
    }
    const digest = digestOf(event)
    if (digest === watched.digest) return
    watched.digest = digest
    stream.answerBytes = bytes.length
    stream.controller.enqueue(bytes)
    stream.sentMs = elapsed()
  }

  private end(stream: Stream): void {
    if (this.streams.delete(stream)) stream.controller.close()
  }
}

import type { Deadline, Deadlines, Waiting } from './deadlines.js'
import { reasonOf, UpstreamFailure } from './errors.js'
import { toReplyHead, type Headers, type ReplyHead, type UpstreamReply } from './reply.js'
import type { ReadWhole } from './whole-answer.js'

/** Who waits for one attempt. Told of its end once. */
export type Listener = {
  /** The first byte is about to be written. */
  onWrite(): void
  onReply(reply: UpstreamReply): void
  /** `unreachable` where not a byte was written, else `silent`. */
  onFailure(failure: UpstreamFailure): void
}

/** What all attempts at one URL share, and the connection that one gives back. */
export type AttemptBounds = {
  readonly answerMs: number
  readonly replyBytesMax: number
  /** Of `answerMs`. */
  readonly deadlines: Deadlines
  readonly readWhole: ReadWhole
}
export type Held = { release(isBroken: boolean): void }

type Controller = { abort(reason: Error): void }

const EMPTY = Buffer.alloc(0)
const NO_HEAD = toReplyHead(0, {})

/** One request on one connection, as undici calls it back. */
export class Attempt implements Waiting {
  private readonly bounds: AttemptBounds
  private readonly held: Held
  private readonly listener: Listener
  private controller: Controller | undefined
  private deadline: Deadline | undefined
  private isWritten = false
  /** Bytes have come: what follows is no longer the beginning of an answer. */
  private isBegun = false
  /** The listener knows the end. */
  private isTold = false
  /** undici is done with it. */
  private isOver = false
  private head: ReplyHead = NO_HEAD
  private first: Buffer | undefined
  private more: Buffer[] | undefined
  private byteLength = 0

  constructor(bounds: AttemptBounds, held: Held, listener: Listener) {
    this.bounds = bounds
    this.held = held
    this.listener = listener
  }

  onRequestStart(controller: Controller): void {
    // undici starts a request anew where it believes that nothing was sent. It is not the judge of
    // that.
    if (this.isWritten) return this.abort(controller, 'the connection was replaced')
    this.listener.onWrite()
    this.isWritten = true
    this.controller = controller
    // undici's own time-outs are for each silence, and half a second late.
    this.deadline = this.bounds.deadlines.begin(this)
  }

  /**
   * Looks at what the connection has read, before undici does. True where it is the whole answer:
   * the listener has it then, and undici may read the same bytes when there is time. The connection
   * stays taken until it has, and is given up where it has not in the time of an answer.
   */
  readAhead(bytes: Buffer): boolean {
    if (!this.isWritten || this.isBegun) return false
    this.isBegun = true
    if (this.isTold || bytes.byteLength > this.bounds.replyBytesMax) return false
    const reply = this.bounds.readWhole(bytes)
    if (reply === undefined) return false
    this.isTold = true
    this.listener.onReply(reply)
    return true
  }

  onOverdue(): void {
    const { controller, bounds } = this
    if (controller !== undefined) this.abort(controller, `no whole answer in ${bounds.answerMs} ms`)
  }

  onResponseStart(controller: Controller, status: number, headers: Headers): void {
    if (status < 200 || this.isTold) return
    if (status > 599) return this.abort(controller, `status ${status}`)
    this.head = toReplyHead(status, headers)
    if (Number(headers['content-length'] ?? 0) > this.bounds.replyBytesMax) this.refuse(controller)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.isTold) return
    this.byteLength += chunk.byteLength
    if (this.byteLength > this.bounds.replyBytesMax) return this.refuse(controller)
    // Nearly every answer is one chunk.
    if (this.first === undefined) this.first = chunk
    else (this.more ??= [this.first]).push(chunk)
  }

  onResponseEnd(): void {
    if (!this.end(false)) return
    const { head, first, more } = this
    const { status, contentType, headers } = head
    const body = more === undefined ? (first ?? EMPTY) : Buffer.concat(more)
    this.listener.onReply({ status, contentType, headers, body })
  }

  onResponseError(_controller: unknown, error: unknown): void {
    if (!this.end(true)) return
    const failure =
      error instanceof UpstreamFailure
        ? error
        : new UpstreamFailure(this.isWritten ? 'silent' : 'unreachable', reasonOf(error))
    this.listener.onFailure(failure)
  }

  private abort(controller: Controller, reason: string): void {
    controller.abort(new UpstreamFailure('silent', reason))
  }

  private refuse(controller: Controller): void {
    this.abort(controller, `the answer exceeds ${this.bounds.replyBytesMax} bytes`)
  }

  /** Gives the connection back. True where the listener is still to be told. */
  private end(isBroken: boolean): boolean {
    if (this.isOver) return false
    this.isOver = true
    const wasTold = this.isTold
    this.isTold = true
    if (this.deadline !== undefined) this.bounds.deadlines.end(this.deadline)
    this.held.release(isBroken)
    return !wasTold
  }
}

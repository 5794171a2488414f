import type { Deadlines, Waiting } from './deadlines.js'
import { HeldBack, reasonOf, UpstreamFailure } from './upstream-failure.js'

/** A whole answer, whatever its status. */
export type UpstreamReply = {
  readonly status: number
  /** Empty where the upstream gave none. */
  readonly contentType: string
  /** Those of the upstream's headers that a client may have, by lower-case name. */
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly body: Buffer
}

/** Who waits for one attempt. Told of its end once. */
export type Listener = {
  /** The first byte is about to be written. False has nothing written: `onHeldBack` follows. */
  onWrite(): boolean
  onHeldBack(): void
  onReply(reply: UpstreamReply): void
  /** `unreachable` where not a byte was written, else `silent`. */
  onFailure(failure: UpstreamFailure): void
}

/** What one attempt is bounded by, and the connection that it gives back. */
export type AttemptBounds = {
  readonly answerMs: number
  readonly replyBytesMax: number
  /** Of `answerMs`. */
  readonly deadlines: Deadlines
}
export type Held = { release(isBroken: boolean): void }

type Controller = { abort(reason: Error): void }
type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * All that passes beside status and content type. What names the server or sets a cookie does not.
 */
const PASSED = ['content-encoding', 'retry-after']

const firstOf = (value: string | string[] | undefined): string =>
  (Array.isArray(value) ? value[0] : value) ?? ''

const passedOf = (headers: Headers): Record<string, string> | undefined => {
  let passed: Record<string, string> | undefined
  for (const name of PASSED)
    if (headers[name] !== undefined) (passed ??= {})[name] = firstOf(headers[name])
  return passed
}

const EMPTY = Buffer.alloc(0)

/** One request on one connection, as undici calls it back. */
export class Attempt implements Waiting {
  private readonly bounds: AttemptBounds
  private readonly held: Held
  private readonly listener: Listener
  private controller: Controller | undefined
  private isSettled = false
  private isWritten = false
  private status = 0
  private contentType = ''
  private headers: UpstreamReply['headers']
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
    // Thrown, so that undici forgets the request and keeps the connection: there is nothing to take back.
    if (!this.listener.onWrite()) throw new HeldBack()
    this.isWritten = true
    this.controller = controller
    // undici's own time-outs are for each silence, and half a second late.
    this.bounds.deadlines.begin(this)
  }

  onOverdue(): void {
    const { controller, bounds } = this
    if (controller !== undefined) this.abort(controller, `no whole answer in ${bounds.answerMs} ms`)
  }

  onResponseStart(controller: Controller, status: number, headers: Headers): void {
    if (status < 200) return
    if (status > 599) return this.abort(controller, `status ${status}`)
    this.status = status
    this.contentType = firstOf(headers['content-type'])
    this.headers = passedOf(headers)
    if (Number(headers['content-length'] ?? 0) > this.bounds.replyBytesMax) this.refuse(controller)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.byteLength += chunk.byteLength
    if (this.byteLength > this.bounds.replyBytesMax) return this.refuse(controller)
    // Nearly every answer is one chunk.
    if (this.first === undefined) this.first = chunk
    else (this.more ??= [this.first]).push(chunk)
  }

  onResponseEnd(): void {
    if (!this.settle(false)) return
    const { status, contentType, headers, first, more } = this
    const body = more === undefined ? (first ?? EMPTY) : Buffer.concat(more)
    this.listener.onReply({ status, contentType, headers, body })
  }

  onResponseError(_controller: unknown, error: unknown): void {
    const isHeldBack = error instanceof HeldBack
    if (!this.settle(!isHeldBack)) return
    if (isHeldBack) return this.listener.onHeldBack()
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

  private settle(isBroken: boolean): boolean {
    if (this.isSettled) return false
    this.isSettled = true
    this.bounds.deadlines.end(this)
    this.held.release(isBroken)
    return true
  }
}

import type { Dispatcher } from 'undici'
import { reasonOf, UpstreamFailure } from './errors.js'
import { toReplyHead, type Headers, type ReplyHead, type UpstreamReply } from './reply.js'

/** Bounds of every attempt. */
export type AttemptBounds = { readonly answerMs: number; readonly replyBytesMax: number }

/** Receives what happens to one attempt. It ends once, with a reply or a failure. */
export type AttemptListener = {
  /** The first byte is about to be written. */
  readonly onWrite: () => void
  readonly onReply: (reply: UpstreamReply) => void
  /** `unreachable` where no byte was written, else `no-response`. */
  readonly onFailure: (failure: UpstreamFailure) => void
  /** The connection is free, or broken. Called before the two above. */
  readonly release: (isBroken: boolean) => void
}

type Controller = { abort(reason: Error): void }

/** One request on one connection: the handler that undici calls back. */
export class Attempt implements Dispatcher.DispatchHandler {
  private readonly bounds: AttemptBounds
  private readonly listener: AttemptListener
  private timer: NodeJS.Timeout | undefined
  private isWritten = false
  private isOver = false
  private head: ReplyHead | undefined
  private readonly chunks: Buffer[] = []
  private byteLength = 0

  constructor(bounds: AttemptBounds, listener: AttemptListener) {
    this.bounds = bounds
    this.listener = listener
  }

  onRequestStart(controller: Controller): void {
    // undici restarts a request when it believes that nothing was sent. A second start never
    // writes.
    if (this.isWritten) return abort(controller, 'the connection was replaced')
    this.listener.onWrite()
    this.isWritten = true
    const { answerMs } = this.bounds
    // undici's own time-outs count each pause and are up to half a second late.
    const onTimeout = () => abort(controller, `no whole answer in ${answerMs} ms`)
    this.timer = setTimeout(onTimeout, answerMs)
    // The connection keeps the process alive.
    this.timer.unref()
  }

  onResponseStart(controller: Controller, status: number, headers: Headers): void {
    if (status < 200) return
    if (status > 599) return abort(controller, `status ${status}`)
    this.head = toReplyHead(status, headers)
    if (Number(headers['content-length'] ?? 0) > this.bounds.replyBytesMax) this.refuse(controller)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.byteLength += chunk.byteLength
    if (this.byteLength > this.bounds.replyBytesMax) return this.refuse(controller)
    this.chunks.push(chunk)
  }

  onResponseEnd(): void {
    const { head, chunks } = this
    if (head === undefined || !this.end(false)) return
    this.listener.onReply({ ...head, body: Buffer.concat(chunks) })
  }

  onResponseError(_controller: unknown, error: unknown): void {
    if (!this.end(true)) return
    const kind = this.isWritten ? 'no-response' : 'unreachable'
    const isOwn = error instanceof UpstreamFailure
    this.listener.onFailure(isOwn ? error : new UpstreamFailure(kind, reasonOf(error)))
  }

  private refuse(controller: Controller): void {
    abort(controller, `the answer exceeds ${this.bounds.replyBytesMax} bytes`)
  }

  /** Gives the connection back. False where that has happened already. */
  private end(isBroken: boolean): boolean {
    if (this.isOver) return false
    this.isOver = true
    clearTimeout(this.timer)
    this.listener.release(isBroken)
    return true
  }
}

const abort = (controller: Controller, reason: string): void =>
  controller.abort(new UpstreamFailure('no-response', reason))

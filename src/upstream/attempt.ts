import type { Dispatcher } from 'undici'
import { reasonOf, UpstreamFailure } from './errors.js'
import type { Options } from './options.js'
import {
  isEncoded,
  toReplyHead,
  type Headers,
  type ReplyHead,
  type UpstreamReply,
} from './reply.js'

type Controller = Pick<Dispatcher.DispatchController, 'abort'>

/** One request on one connection: the handler that undici calls back. */
export class Attempt implements Dispatcher.DispatchHandler {
  private readonly bounds: Pick<Options, 'answerMs' | 'replyBytesMax'>
  /** The first byte is about to be written. */
  private readonly onWrite: () => void
  private readonly onEnd: (outcome: UpstreamReply | UpstreamFailure) => void
  private timer: NodeJS.Timeout | undefined
  private isWritten = false
  private isOver = false
  private head: ReplyHead | undefined
  private readonly chunks: Buffer[] = []
  private byteLength = 0

  /**
   * `onEnd` is called once. A failure is `unreachable` where no byte was written, else
   * `no-response`; the connection is broken then.
   */
  constructor(bounds: Attempt['bounds'], onWrite: Attempt['onWrite'], onEnd: Attempt['onEnd']) {
    this.bounds = bounds
    this.onWrite = onWrite
    this.onEnd = onEnd
  }

  onRequestStart(controller: Controller): void {
    // undici restarts a request when it believes that nothing was sent. A second start never
    // writes.
    if (this.isWritten) return abort(controller, 'the connection was replaced')
    this.onWrite()
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
    // What is encoded cannot be searched for the service's key.
    if (isEncoded(headers)) return abort(controller, 'the answer is encoded')
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
    if (head !== undefined) this.end({ ...head, body: Buffer.concat(chunks) })
  }

  onResponseError(_controller: unknown, error: unknown): void {
    const kind = this.isWritten ? 'no-response' : 'unreachable'
    const isOwn = error instanceof UpstreamFailure
    this.end(isOwn ? error : new UpstreamFailure(kind, reasonOf(error)))
  }

  private refuse(controller: Controller): void {
    abort(controller, `the answer exceeds ${this.bounds.replyBytesMax} bytes`)
  }

  private end(outcome: UpstreamReply | UpstreamFailure): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.timer)
    this.onEnd(outcome)
  }
}

const abort = (controller: Controller, reason: string): void =>
  controller.abort(new UpstreamFailure('no-response', reason))

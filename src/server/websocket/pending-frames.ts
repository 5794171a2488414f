/** A frame queued for one or more slow sockets. Its bytes are in memory once. */
export type PendingFrame = {
  readonly bytes: Uint8Array | string
  readonly isBinary: boolean
  /** Queues that contain it. */
  refCount: number
}

/** A frame with bytes of its own: the caller may reuse the buffer it passed. */
export const toPendingFrame = (frame: Uint8Array | string, isBinary: boolean): PendingFrame => ({
  bytes: typeof frame === 'string' ? frame : Buffer.from(frame),
  isBinary,
  refCount: 0,
})

/** Frames already sent are cut off the front of the array once there are this many. */
const SENT_MAX = 256

/**
 * Frames that wait for one slow socket behind the buffer of uWebSockets, in order, and the
 * topics whose frames are queued here.
 */
export class PendingFrames {
  readonly topics: Set<string>
  /** Bytes of all its frames, shared ones included. */
  bytes = 0
  private frames: PendingFrame[] = []
  private sentCount = 0

  constructor(topics: Iterable<string>) {
    this.topics = new Set(topics)
  }

  /** Returns the bytes that are new in memory: 0 where another queue contains the frame. */
  push(frame: PendingFrame): number {
    this.frames.push(frame)
    this.bytes += frame.bytes.length
    return frame.refCount++ === 0 ? frame.bytes.length : 0
  }

  get first(): PendingFrame | undefined {
    return this.frames[this.sentCount]
  }

  /**
   * Removes the first frame. Returns the bytes that are freed: 0 while another queue contains it.
   */
  shift(): number {
    const { first } = this
    if (first === undefined) return 0
    if (++this.sentCount > SENT_MAX && this.sentCount * 2 > this.frames.length) {
      this.frames = this.frames.slice(this.sentCount)
      this.sentCount = 0
    }
    this.bytes -= first.bytes.length
    return --first.refCount === 0 ? first.bytes.length : 0
  }
}

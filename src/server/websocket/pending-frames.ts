/** A frame that waits in our own hands, for as many sockets as hold it; its bytes stand once. */
export type HeldFrame = {
  readonly bytes: Uint8Array | string
  readonly isBinary: boolean
  holdersCount: number
}

/** Frames left before those already taken are cut off the front. */
const TAKEN_MAX = 256

/**
 * What waits for one socket beside what uWebSockets.js queues for it, in order, and the topics
 * whose frames come here meanwhile.
 */
export class HeldQueue {
  readonly topics: Set<string>
  /** Of all its frames, also of those that other sockets hold too. */
  bytes = 0
  private frames: HeldFrame[] = []
  private taken = 0

  constructor(topics: Iterable<string>) {
    this.topics = new Set(topics)
  }

  /** Answers how many bytes are held that no socket held before. */
  push(frame: HeldFrame): number {
    this.frames.push(frame)
    this.bytes += frame.bytes.length
    return frame.holdersCount++ === 0 ? frame.bytes.length : 0
  }

  get first(): HeldFrame | undefined {
    return this.frames[this.taken]
  }

  /** Drops the first one, and answers how many bytes nobody holds any more. */
  drop(): number {
    const { first } = this
    if (first === undefined) return 0
    if (++this.taken > TAKEN_MAX && this.taken * 2 > this.frames.length) {
      this.frames = this.frames.slice(this.taken)
      this.taken = 0
    }
    this.bytes -= first.bytes.length
    return --first.holdersCount === 0 ? first.bytes.length : 0
  }
}

import type { Options } from '../options.js'

/** The server options that `UnreadReplyDetector` uses. */
export type UnreadReplyOptions = Pick<
  Options,
  'unreadProbeBytes' | 'unreadProbesMax' | 'unreadForgetMs'
>

/** Bound of the addresses remembered; the oldest is evicted. */
const ADDRESSES_MAX = 4_096

/**
 * Finds clients that send requests and never read the replies. uWebSockets would buffer all of
 * these replies and does not report how many bytes it buffers, so one reply per `probeBytes` is
 * written as a probe: in a way that shows whether earlier replies are still unread. The more
 * replies a client leaves unread, the more probes it gets.
 */
export class UnreadReplyDetector {
  private bytesLeft: number
  private readonly options: UnreadReplyOptions
  private readonly now: () => number
  private readonly failedProbes = new Map<string, number>()
  private forgetAtMs: number
  /** Connections that were closed. */
  closedCount = 0

  constructor(options: UnreadReplyOptions, now: () => number) {
    this.options = options
    this.now = now
    this.bytesLeft = options.unreadProbeBytes
    this.forgetAtMs = now() + options.unreadForgetMs
  }

  /** Counts a reply. Returns true where it must be written as a probe. */
  countReply(replyBytes: number): boolean {
    this.bytesLeft -= replyBytes
    if (this.bytesLeft > 0) return false
    this.bytesLeft = this.options.unreadProbeBytes
    return true
  }

  /** Records that `address` had not read an earlier reply. Returns true where it must be closed. */
  recordUnread(address: string): boolean {
    if (this.now() >= this.forgetAtMs) {
      this.failedProbes.clear()
      this.forgetAtMs = this.now() + this.options.unreadForgetMs
    }
    const count = (this.failedProbes.get(address) ?? 0) + 1
    const oldest = this.failedProbes.keys().next()
    if (this.failedProbes.size >= ADDRESSES_MAX && oldest.done === false)
      this.failedProbes.delete(oldest.value)
    this.failedProbes.set(address, count)
    if (count <= this.options.unreadProbesMax) return false
    this.closedCount++
    return true
  }
}

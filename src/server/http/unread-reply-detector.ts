import type { Options } from '../options.js'

/** What `Backlog` needs to know of the server's options. */
export type BacklogOptions = Pick<
  Options,
  'backlogProbeBytes' | 'backlogProbesMax' | 'backlogForgetMs'
>

/** Addresses remembered. One more and the oldest is forgotten. */
const ADDRESSES_MAX = 4_096

/**
 * Finds clients that send requests and never read the replies: uWebSockets.js would keep all of
 * them. It does not say how much it keeps, so each so many bytes of replies one of them is written
 * in a way that tells. Whoever piles up replies is met in proportion.
 */
export class Backlog {
  private bytesLeft: number
  private readonly options: BacklogOptions
  private readonly now: () => number
  private readonly probes = new Map<string, number>()
  private forgetAtMs: number

  constructor(options: BacklogOptions, now: () => number) {
    this.options = options
    this.now = now
    this.bytesLeft = options.backlogProbeBytes
    this.forgetAtMs = now() + options.backlogForgetMs
  }

  /** Counts a direct reply; true where this one is the probe. */
  isProbe(replyBytes: number): boolean {
    this.bytesLeft -= replyBytes
    if (this.bytesLeft > 0) return false
    this.bytesLeft = this.options.backlogProbeBytes
    return true
  }

  /** Notes that `address` had not read an earlier reply; true where that was once too often. */
  note(address: string): boolean {
    if (this.now() >= this.forgetAtMs) {
      this.probes.clear()
      this.forgetAtMs = this.now() + this.options.backlogForgetMs
    }
    const count = (this.probes.get(address) ?? 0) + 1
    const oldest = this.probes.keys().next()
    if (this.probes.size >= ADDRESSES_MAX && oldest.done === false) this.probes.delete(oldest.value)
    this.probes.set(address, count)
    return count > this.options.backlogProbesMax
  }
}

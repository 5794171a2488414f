import { REFUSED_WORDS, RefusedAccesses } from './refused-accesses.js'

/** Words that remember when accesses last got a token. Accesses that share one count as one. */
const SERVED_WORDS = 256

/** Words of the order of one queue on a machine of so many edges. */
export const orderWords = (edgeCount: number): number =>
  SERVED_WORDS + REFUSED_WORDS + 2 * edgeCount

/**
 * What is longer ago does not count: an access that never got a token is not before one that waited
 * as long, so that accesses without end, each with its first request, keep no other one waiting.
 */
const MEMORY_NS = 10_000_000_000n

/** A request that is the next one of its edge. */
export type Position = {
  /** When its access last got a token, at any edge; 0 if never. */
  readonly servedNs: bigint
  /** When the request arrived, or the first refused one of its access since its last token. */
  readonly arrivedNs: bigint
}

type OrderParts = {
  /** Words that all edges of the machine share. */
  readonly words: BigInt64Array
  /** The first of `orderWords`. */
  readonly index: number
  readonly edgeIndex: number
  readonly edgeCount: number
  /** Nanoseconds of a clock shared by all processes of the machine. */
  readonly nowNs: () => bigint
}

/** FNV-1a. */
const hash = (text: string, seed = 0x811c9dc5): number => {
  let value = seed
  for (let at = 0; at < text.length; at++)
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0
  return value
}

const keyOf = (accessId: string): bigint => {
  const low = hash(accessId)
  return BigInt.asIntN(64, (BigInt(hash(accessId, low)) << 32n) | BigInt(low))
}

const latest = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/**
 * Which request an engine gets next, over all edges of the machine: that of the access which got a
 * token least recently, and of equal ones the one that arrived first. The next request of an edge
 * that has died is waited for a moment only.
 */
export class EngineOrder {
  private readonly parts: OrderParts
  private readonly refused: RefusedAccesses

  constructor(parts: OrderParts) {
    this.parts = parts
    const { words, index, nowNs } = parts
    const first = index + SERVED_WORDS
    this.refused = new RefusedAccesses(words.subarray(first, first + REFUSED_WORDS), nowNs)
    this.publish(undefined)
  }

  /** When the access last got a token, at any edge; 0 if never. */
  servedNs(accessId: string, nowNs = this.parts.nowNs()): bigint {
    return this.read(this.servedIndex(accessId), nowNs)
  }

  /**
   * The access has a request: when it was first refused since its last token, at any edge; 0 if it
   * was not.
   */
  comesBack(accessId: string): bigint {
    return this.refused.comesBack(keyOf(accessId))
  }

  /** The access gets a token. */
  markServed(accessId: string): void {
    const { words, nowNs } = this.parts
    Atomics.store(words, this.servedIndex(accessId), nowNs())
    this.refused.clear(keyOf(accessId))
  }

  /** The access is told to come back. */
  markRefused(accessId: string): void {
    this.refused.mark(keyOf(accessId))
  }

  /** A clock for `arrivedNs`. */
  nowNs(): bigint {
    return this.parts.nowNs()
  }

  /** Publishes the next request of this edge; undefined: none waits. */
  publish(next: Position | undefined): void {
    const { words, edgeIndex } = this.parts
    const word = this.edgeWord(edgeIndex)
    Atomics.store(words, word, next?.servedNs ?? 0n)
    // Last, because without it there is no request.
    Atomics.store(words, word + 1, next?.arrivedNs ?? 0n)
  }

  /** Whether one request is before another. */
  isBefore(one: Position, other: Position, nowNs = this.parts.nowNs()): boolean {
    const oldestNs = nowNs - MEMORY_NS
    const [first, second] = [latest(one.servedNs, oldestNs), latest(other.servedNs, oldestNs)]
    return first < second || (first === second && one.arrivedNs < other.arrivedNs)
  }

  /** True where the next request of another edge is before this one. */
  isBehind(own: Position): boolean {
    const { edgeIndex, edgeCount } = this.parts
    const nowNs = this.parts.nowNs()
    for (let edge = 0; edge < edgeCount; edge++) {
      const word = this.edgeWord(edge)
      const arrivedNs = edge === edgeIndex ? 0n : this.read(word + 1, nowNs)
      if (arrivedNs === 0n) continue
      const servedNs = this.read(word, nowNs)
      if (this.isBefore({ servedNs, arrivedNs }, own, nowNs)) return true
    }
    return false
  }

  private servedIndex(accessId: string): number {
    return this.parts.index + (hash(accessId) % SERVED_WORDS)
  }

  private edgeWord(edge: number): number {
    return this.parts.index + SERVED_WORDS + REFUSED_WORDS + 2 * edge
  }

  /** A time after now was written before a reboot. */
  private read(index: number, nowNs: bigint): bigint {
    const value = Atomics.load(this.parts.words, index)
    // Another edge may have written it after `nowNs` was read.
    return value <= nowNs || value <= this.parts.nowNs() ? value : 0n
  }
}

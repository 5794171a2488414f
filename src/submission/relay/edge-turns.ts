/** Words that remember when accesses last got a token. Accesses that share one count as one. */
const SERVED_WORDS = 256

/** Words of the turns of one queue on a machine of so many edges. */
export const turnWords = (edgeCount: number): number => SERVED_WORDS + 2 * edgeCount

/** A request that is the next one of its edge. */
export type Turn = {
  /** When its access last got a token, at any edge; 0 if never. */
  readonly servedNs: bigint
  readonly arrivedNs: bigint
}

type TurnsPlace = {
  /** Words that all edges of the machine share. */
  readonly words: BigInt64Array
  /** The first of `turnWords`. */
  readonly index: number
  readonly edgeIndex: number
  readonly edgeCount: number
  /** Nanoseconds of a clock shared by all processes of the machine. */
  readonly nowNs: () => bigint
}

/** FNV-1a. */
const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++)
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0
  return value
}

/**
 * Whose turn it is at an engine, over all edges of the machine: that of the access which got a
 * token least recently, and of equal ones that of the request which arrived first. An edge that
 * dies leaves a turn that the others wait for a moment only.
 */
export class EdgeTurns {
  private readonly place: TurnsPlace

  constructor(place: TurnsPlace) {
    this.place = place
    this.publish(undefined)
  }

  /** When the access last got a token, at any edge; 0 if never. */
  servedNs(accessId: string): bigint {
    return this.read(this.servedIndex(accessId))
  }

  /** The access gets a token. */
  markServed(accessId: string): void {
    const { words, nowNs } = this.place
    Atomics.store(words, this.servedIndex(accessId), nowNs())
  }

  /** A clock for `arrivedNs`. */
  nowNs(): bigint {
    return this.place.nowNs()
  }

  /** Publishes the next request of this edge; undefined: none waits. */
  publish(turn: Turn | undefined): void {
    const { words, edgeIndex } = this.place
    const word = this.edgeWord(edgeIndex)
    Atomics.store(words, word, turn?.servedNs ?? 0n)
    // Last, because without it there is no turn.
    Atomics.store(words, word + 1, turn?.arrivedNs ?? 0n)
  }

  /** True where the next request of another edge is before this one. */
  isBehind({ servedNs, arrivedNs }: Turn): boolean {
    const { edgeIndex, edgeCount } = this.place
    for (let edge = 0; edge < edgeCount; edge++) {
      const word = this.edgeWord(edge)
      const arrived = edge === edgeIndex ? 0n : this.read(word + 1)
      if (arrived === 0n) continue
      const served = this.read(word)
      if (served < servedNs || (served === servedNs && arrived < arrivedNs)) return true
    }
    return false
  }

  private servedIndex(accessId: string): number {
    return this.place.index + (hash(accessId) % SERVED_WORDS)
  }

  private edgeWord(edge: number): number {
    return this.place.index + SERVED_WORDS + 2 * edge
  }

  /** A time after now was written before a reboot. */
  private read(index: number): bigint {
    const { words, nowNs } = this.place
    const value = Atomics.load(words, index)
    return value > nowNs() ? 0n : value
  }
}

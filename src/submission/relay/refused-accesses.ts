/**
 * Accesses that a queue has refused, over all edges of the machine: a table of fixed size in words
 * that they share. A slot is three words: the key of an access, when it was first refused since its
 * last token, and when it was refused or came back last. An access has one slot at most. One that
 * does not come back leaves it after `RETURN_NS`; while all slots of a set are in use, one more
 * access of that set is not remembered. Edges that take a slot at once may mix their times, which
 * are then equal.
 */
const SLOT_WORDS = 3
const SET_SLOTS = 4
const SETS = 64

/** Words of the table. */
export const REFUSED_WORDS = SETS * SET_SLOTS * SLOT_WORDS

const KEY = 0
const FIRST = 1
const LAST = 2

/** A client is told to come back after a second, and may then wait for more than one. */
const RETURN_NS = 3_000_000_000n

export class RefusedAccesses {
  private readonly words: BigInt64Array
  private readonly nowNs: () => bigint

  /** The words are zero at first. */
  constructor(words: BigInt64Array, nowNs: () => bigint) {
    this.words = words
    this.nowNs = nowNs
  }

  /** When the access was first refused since its last token; 0 if it was not. It has come back. */
  comesBack(key: bigint): bigint {
    const slot = this.find(key)
    if (slot === undefined) return 0n
    Atomics.store(this.words, slot + LAST, this.nowNs())
    return Atomics.load(this.words, slot + FIRST)
  }

  /** The access is told to come back. */
  mark(key: bigint): void {
    const nowNs = this.nowNs()
    const known = this.find(key)
    const slot = known ?? this.slotsOf(key).find(one => !this.isInUse(one, nowNs))
    if (slot === undefined) return
    if (known === undefined) {
      Atomics.store(this.words, slot + KEY, key)
      Atomics.store(this.words, slot + FIRST, nowNs)
    }
    Atomics.store(this.words, slot + LAST, nowNs)
  }

  /** The access has got a token. */
  clear(key: bigint): void {
    const slot = this.find(key)
    if (slot !== undefined) Atomics.store(this.words, slot + LAST, 0n)
  }

  private find(key: bigint): number | undefined {
    const nowNs = this.nowNs()
    return this.slotsOf(key).find(
      slot => Atomics.load(this.words, slot + KEY) === key && this.isInUse(slot, nowNs),
    )
  }

  private slotsOf(key: bigint): readonly number[] {
    const first = Number(BigInt.asUintN(32, key)) % SETS
    return Array.from({ length: SET_SLOTS }, (_, nth) => (first * SET_SLOTS + nth) * SLOT_WORDS)
  }

  /** A time after now was written before a reboot; or just now, by another edge. */
  private isInUse(slot: number, nowNs: bigint): boolean {
    const lastNs = Atomics.load(this.words, slot + LAST)
    const ageNs = nowNs - lastNs
    return lastNs !== 0n && ageNs < RETURN_NS && ageNs > -RETURN_NS
  }
}

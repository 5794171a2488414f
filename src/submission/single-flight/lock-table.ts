/**
 * Which edge sends which bundle: words that every edge of the machine maps and changes by
 * compare-and-swap alone, so that an edge which dies at any instant leaves nothing locked.
 */

/** A bucket: a count of locks ever acquired, then the locks, then two words of an id for each. */
const SLOTS = 7
const BUCKET_WORDS = 1 + SLOTS + 2 * SLOTS
/** Far more than may be in flight: a full bucket must not happen. */
const BUCKETS = 2_048

/** Words of one machine's lock table. */
export const LOCK_TABLE_WORDS = BUCKETS * BUCKET_WORDS

/** A lock that this edge has acquired: its slot, and the word in it. */
export type Lock = { readonly slot: number; readonly word: bigint }

/** Which edge has a lock; `id` is the submission that it sends, absent before and after that. */
export type LockOwner = { readonly edge: number; readonly id: Uint8Array | undefined }

export type LockTableModules = {
  /** `LOCK_TABLE_WORDS` words, zero at first, the same for every edge. */
  readonly words: BigInt64Array
  readonly edgeIndex: number
  /** Locks expire after this: their edge hangs. Above every time-out of a send. */
  readonly lockSecondsMax: number
  /** Whole seconds of a clock that all processes of the machine share. */
  readonly nowSeconds: () => number
}

// A lock's word: 40 bits of the key, 8 of the edge, 16 of the second. Two bundles with the same 40
// bits wait for each other.
const KEY_SHIFT = 24n
const EDGE_SHIFT = 16n
const SECONDS = 0xffff

const keyOf = (word: bigint): bigint => BigInt.asUintN(64, word) >> KEY_SHIFT
const edgeOf = (word: bigint): number => Number((word >> EDGE_SHIFT) & 0xffn)
const toView = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Never 0, which is a free slot. */
const fingerprint = (key: Uint8Array): bigint => (toView(key).getBigUint64(0) >> KEY_SHIFT) | 1n
const bucketOf = (key: Uint8Array): number => (toView(key).getUint32(8) % BUCKETS) * BUCKET_WORDS

/** The first of a slot's two words of an id. */
const idIndexOf = (slot: number): number => {
  const inBucket = slot % BUCKET_WORDS
  return slot - inBucket + 1 + SLOTS + 2 * (inBucket - 1)
}

/** One edge's view of the lock table. A key is a digest of at least 16 bytes. */
export class LockTable {
  private readonly words: BigInt64Array
  private readonly modules: LockTableModules

  constructor(modules: LockTableModules) {
    this.words = modules.words
    this.modules = modules
  }

  /** The lock, `locked` where there is one already, `full` where there is no free slot. */
  tryAcquire(key: Uint8Array): Lock | 'locked' | 'full' {
    const { words } = this
    const bucket = bucketOf(key)
    const wanted = fingerprint(key)
    for (;;) {
      const count = Atomics.load(words, bucket)
      const slot = this.freeSlot(bucket, wanted)
      if (typeof slot === 'string') return slot
      const low = BigInt(this.modules.edgeIndex * (SECONDS + 1) + this.now())
      const word = BigInt.asIntN(64, (wanted << KEY_SHIFT) | low)
      if (Atomics.compareExchange(words, slot, 0n, word) !== 0n) continue
      const lock = { slot, word }
      // Another edge may have locked the same bundle in another slot after we had looked. Of all
      // who acquire at once in a bucket one raises its count; the others release and look again.
      if (Atomics.compareExchange(words, bucket, count, count + 1n) === count) return lock
      this.release(lock)
    }
  }

  /** Publishes the submission that is sent under the lock, an id of 16 bytes. */
  setSubmission({ slot }: Lock, id: Uint8Array): void {
    const view = toView(id)
    Atomics.store(this.words, idIndexOf(slot), view.getBigInt64(0))
    Atomics.store(this.words, idIndexOf(slot) + 1, view.getBigInt64(8))
  }

  /** The submission has ended: no other one joins it any more. */
  clearSubmission({ slot, word }: Lock): void {
    // Expired and acquired by another edge since.
    if (Atomics.load(this.words, slot) !== word) return
    Atomics.store(this.words, idIndexOf(slot), 0n)
    Atomics.store(this.words, idIndexOf(slot) + 1, 0n)
  }

  release(lock: Lock): void {
    // The next lock in this slot must not be seen with this one's id.
    this.clearSubmission(lock)
    Atomics.compareExchange(this.words, lock.slot, lock.word, 0n)
  }

  owner(key: Uint8Array): LockOwner | undefined {
    const found = this.find(key)
    if (found === undefined) return undefined
    const edge = edgeOf(found.word)
    const first = Atomics.load(this.words, idIndexOf(found.slot))
    const second = Atomics.load(this.words, idIndexOf(found.slot) + 1)
    const isWhole = first !== 0n && second !== 0n
    // Read between two reads of the lock, the id belongs to it.
    if (!isWhole || Atomics.load(this.words, found.slot) !== found.word)
      return { edge, id: undefined }
    const id = new Uint8Array(16)
    toView(id).setBigInt64(0, first)
    toView(id).setBigInt64(8, second)
    return { edge, id }
  }

  /** Releases the locks of an earlier process of this edge, and of edges that no longer exist. */
  releaseStale(edgeCount: number): void {
    for (let slot = 0; slot < LOCK_TABLE_WORDS; slot++) {
      const inBucket = slot % BUCKET_WORDS
      if (inBucket === 0 || inBucket > SLOTS) continue
      const word = Atomics.load(this.words, slot)
      const edge = edgeOf(word)
      if (word !== 0n && (edge === this.modules.edgeIndex || edge >= edgeCount))
        this.release({ slot, word })
    }
  }

  private now(): number {
    return this.modules.nowSeconds() & SECONDS
  }

  /** Reads the clock after the word: a lock of a later second would count as expired. */
  private isExpired(word: bigint): boolean {
    return ((this.now() - Number(word & 0xffffn)) & SECONDS) > this.modules.lockSecondsMax
  }

  private find(key: Uint8Array): Lock | undefined {
    const wanted = fingerprint(key)
    const bucket = bucketOf(key)
    for (let slot = bucket + 1; slot <= bucket + SLOTS; slot++) {
      const word = Atomics.load(this.words, slot)
      if (word !== 0n && keyOf(word) === wanted && !this.isExpired(word)) return { slot, word }
    }
    return undefined
  }

  /** A free slot of the bucket, where the key has no lock yet. Expired locks are released. */
  private freeSlot(bucket: number, wanted: bigint): number | 'locked' | 'full' {
    let free: number | 'full' = 'full'
    for (let slot = bucket + 1; slot <= bucket + SLOTS; slot++) {
      const word = Atomics.load(this.words, slot)
      if (word !== 0n && !this.isExpired(word)) {
        if (keyOf(word) === wanted) return 'locked'
        continue
      }
      if (word !== 0n) this.release({ slot, word })
      if (free === 'full') free = slot
    }
    return free
  }
}

/**
 * Which bundles are in flight at which edge: words that every edge of the machine maps and changes
 * by compare-and-swap alone, so that an edge which dies at any instant leaves nothing locked.
 */

/**
 * Of each bucket: its count of claims ever made, then the claims, then two words of an id for each.
 */
const PLACES = 7
const BUCKET_WORDS = 1 + PLACES + 2 * PLACES
/** Far more than may be in flight: a bucket with no place left must not happen. */
const BUCKETS = 2_048

/** Words that the claims of one machine take. */
export const CLAIM_WORDS = BUCKETS * BUCKET_WORDS

/** A claim that is held. */
export type Claim = { readonly place: number; readonly word: bigint }

/**
 * Which edge has a bundle; `id` is that of the flight, absent before it begins and after it ends.
 */
export type Holder = { readonly edge: number; readonly id: Uint8Array | undefined }

/** What the claims of one edge work with. */
export type ClaimModules = {
  /** `CLAIM_WORDS` words, zero at first, the same for every edge. */
  readonly words: BigInt64Array
  readonly edgeIndex: number
  /**
   * Older claims are nobody's: their edge was stopped, not killed. Over every time-out of a flight.
   */
  readonly claimSecondsMax: number
  /** Whole seconds of a clock that all processes of the machine share. */
  readonly nowSeconds: () => number
}

export type Claims = {
  /** The claim, `held` where another flight has it, `full` where there is no place. */
  take(key: Uint8Array): Claim | 'held' | 'full'
  /** The flight begins, under this id of 16 bytes. */
  begin(claim: Claim, id: Uint8Array): void
  /** The flight has ended: who comes now does not join it. */
  end(claim: Claim): void
  release(claim: Claim): void
  holder(key: Uint8Array): Holder | undefined
  /** Lets go what an earlier life of this edge held, and what edges hold that there are no more. */
  clear(edgeCount: number): void
}

// 40 bits of the key, 8 of the edge, 16 of the second. Two bundles of the same 40 bits wait for
// each other.
const KEY_SHIFT = 24n
const EDGE_SHIFT = 16n
const SECONDS = 0xffff

const keyOf = (word: bigint): bigint => BigInt.asUintN(64, word) >> KEY_SHIFT
const edgeOf = (word: bigint): number => Number((word >> EDGE_SHIFT) & 0xffn)

// Without a DataView of the key: to make one takes longer than all that is read through it.
const byteAt = (key: Uint8Array, index: number): number => key[index] ?? 0
const uint32At = (key: Uint8Array, index: number): number =>
  byteAt(key, index) * 2 ** 24 +
  byteAt(key, index + 1) * 2 ** 16 +
  byteAt(key, index + 2) * 2 ** 8 +
  byteAt(key, index + 3)
/** Never 0, which is a free place. */
const fingerprint = (key: Uint8Array): bigint =>
  BigInt(uint32At(key, 0) * 2 ** 8 + (byteAt(key, 4) | 1))
const bucketOf = (key: Uint8Array): number => (uint32At(key, 8) % BUCKETS) * BUCKET_WORDS

/** Claims of one edge. A key is a digest of at least 16 bytes. */
export const createClaims = (modules: ClaimModules): Claims => {
  const { words, edgeIndex, claimSecondsMax, nowSeconds } = modules
  const now16 = (): number => nowSeconds() & SECONDS

  const isExpired = (word: bigint, now: number): boolean =>
    ((now - Number(word & 0xffffn)) & SECONDS) > claimSecondsMax

  /** An id on its way from bytes to words, or back. */
  const idBytes = new Uint8Array(16)
  const idView = new DataView(idBytes.buffer)
  /** The two words of the id that belong to a place. */
  const idOf = (place: number): number => {
    const inBucket = place % BUCKET_WORDS
    return place - inBucket + 1 + PLACES + 2 * (inBucket - 1)
  }

  const find = (key: Uint8Array): { place: number; word: bigint } | undefined => {
    const wanted = fingerprint(key)
    const bucket = bucketOf(key)
    const now = now16()
    for (let place = bucket + 1; place <= bucket + PLACES; place++) {
      const word = Atomics.load(words, place)
      if (word !== 0n && keyOf(word) === wanted && !isExpired(word, now)) return { place, word }
    }
    return undefined
  }

  const end = ({ place, word }: Claim): void => {
    // Expired and taken by another since: no longer ours to change.
    if (Atomics.load(words, place) !== word) return
    Atomics.store(words, idOf(place), 0n)
    Atomics.store(words, idOf(place) + 1, 0n)
  }

  // A free place has no id: the next claim must not be seen with this one's.
  const release = (claim: Claim): void => {
    end(claim)
    Atomics.compareExchange(words, claim.place, claim.word, 0n)
  }

  /**
   * A free place of the bucket, where the key has none yet. What has expired is freed on the way.
   */
  const freePlace = (bucket: number, wanted: bigint, now: number): number | 'held' | 'full' => {
    let free: number | 'full' = 'full'
    for (let place = bucket + 1; place <= bucket + PLACES; place++) {
      const word = Atomics.load(words, place)
      if (word !== 0n && !isExpired(word, now)) {
        if (keyOf(word) === wanted) return 'held'
        continue
      }
      if (word !== 0n) release({ place, word })
      if (free === 'full') free = place
    }
    return free
  }

  return {
    end,
    release,
    take(key) {
      const bucket = bucketOf(key)
      const wanted = fingerprint(key)
      for (;;) {
        const count = Atomics.load(words, bucket)
        const now = now16()
        const place = freePlace(bucket, wanted, now)
        if (typeof place === 'string') return place
        const low = BigInt(edgeIndex * (SECONDS + 1) + now)
        const word = BigInt.asIntN(64, (wanted << KEY_SHIFT) | low)
        if (Atomics.compareExchange(words, place, 0n, word) !== 0n) continue
        const claim = { place, word }
        // Another edge may have claimed the same bundle in another place after we had looked. The
        // count tells: of all who claim at once in a bucket one raises it, the others go back and
        // look again.
        if (Atomics.compareExchange(words, bucket, count, count + 1n) === count) return claim
        release(claim)
      }
    },
    begin({ place }, id) {
      idBytes.set(id)
      Atomics.store(words, idOf(place), idView.getBigInt64(0))
      Atomics.store(words, idOf(place) + 1, idView.getBigInt64(8))
    },
    holder(key) {
      const found = find(key)
      if (found === undefined) return undefined
      const edge = edgeOf(found.word)
      const first = Atomics.load(words, idOf(found.place))
      const second = Atomics.load(words, idOf(found.place) + 1)
      const isWhole = first !== 0n && second !== 0n
      // Read between two looks at the claim, the words are its own.
      if (!isWhole || Atomics.load(words, found.place) !== found.word)
        return { edge, id: undefined }
      idView.setBigInt64(0, first)
      idView.setBigInt64(8, second)
      return { edge, id: idBytes.slice() }
    },
    clear(edgeCount) {
      for (let place = 0; place < CLAIM_WORDS; place++) {
        const inBucket = place % BUCKET_WORDS
        if (inBucket === 0 || inBucket > PLACES) continue
        const word = Atomics.load(words, place)
        const edge = edgeOf(word)
        if (word !== 0n && (edge === edgeIndex || edge >= edgeCount)) release({ place, word })
      }
    },
  }
}

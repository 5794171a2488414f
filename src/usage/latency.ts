/** Four in each doubling from 4 µs to 33.5 s; the last one has what takes longer, too. */
export const LATENCY_BUCKETS = 88
const UNITS_PER_MS = 250
const UNITS_MAX = 2 ** 31

/** The bucket of a whole number: a quarter of a value wide at most, and one wide below 8. */
export const bucketOfCount = (count: number): number => {
  const units = Math.min(UNITS_MAX, Math.max(0, Math.floor(count)))
  if (units < 4) return units
  const doubling = 31 - Math.clz32(units)
  const quarter = (units >>> (doubling - 2)) & 3
  return Math.min(LATENCY_BUCKETS - 1, 4 * (doubling - 1) + quarter)
}

const firstOf = (bucket: number): number => {
  if (bucket < 4) return bucket
  const doubling = Math.floor(bucket / 4) + 1
  return (4 + (bucket % 4)) * 2 ** (doubling - 2)
}

/** The highest number of a bucket. */
export const lastOf = (bucket: number): number => firstOf(bucket + 1) - 1

/** The bucket of a duration. `native/edge/src/latency.rs` has the same ones. */
export const bucketOf = (ms: number): number => bucketOfCount(ms * UNITS_PER_MS)

/** The shortest duration of a bucket, in milliseconds. */
export const startOf = (bucket: number): number => firstOf(bucket) / UNITS_PER_MS

/**
 * The duration in milliseconds that a share of the calls took at most, taken as evenly spread in
 * its bucket; null if there are none.
 */
export const percentileMs = (buckets: readonly number[], share: number): number | null => {
  const total = buckets.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let before = 0
  for (const [bucket, count] of buckets.entries()) {
    const part = (share * total - before) / count
    if (count > 0 && part <= 1) {
      const startMs = startOf(bucket)
      return startMs + (startOf(bucket + 1) - startMs) * Math.max(0, part)
    }
    before += count
  }
  return startOf(buckets.length)
}

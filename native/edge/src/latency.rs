//! Buckets of durations, four in each doubling: a quarter of a value wide at most.
//! `src/usage/latency.ts` has the same ones.

use std::time::Duration;

/// From 4 µs to 33.5 s; the last one has what takes longer, too.
pub const BUCKETS: usize = usage::LATENCIES;
const UNIT_NS: u32 = 4_000;
const UNITS_A_SECOND: u64 = 1_000_000_000 / UNIT_NS as u64;

/// The bucket of a duration.
pub fn bucket_of(elapsed: Duration) -> usize {
    let units = elapsed
        .as_secs()
        .saturating_mul(UNITS_A_SECOND)
        .saturating_add(u64::from(elapsed.subsec_nanos() / UNIT_NS));
    if units < 4 {
        return units as usize;
    }
    let doubling = units.ilog2() as usize;
    let quarter = (units >> (doubling - 2)) as usize & 3;
    (4 * (doubling - 1) + quarter).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_four_in_each_doubling() {
        let cases = [
            (0, 0),
            (3_999, 0),
            (4_000, 1),
            (15_999, 3),
            (16_000, 4),
            (20_000, 5),
            (31_999, 7),
            (32_000, 8),
            (39_999, 8),
            (1_000_000, 27),
            (30_000_000_000, 87),
        ];
        for (ns, bucket) in cases {
            assert_eq!(bucket_of(Duration::from_nanos(ns)), bucket, "{ns}");
        }
        assert_eq!(bucket_of(Duration::MAX), BUCKETS - 1);
    }
}

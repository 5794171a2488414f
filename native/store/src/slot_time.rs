//! The time that the chain takes for a slot, by the times of the stored blocks.
//!
//! Block times are the chain's own, so a burst after a reconnect, a replay of old blocks or a step
//! of this machine's clock does not change them. One is in whole seconds and may be wrong, and the
//! chain may stand still or skip slots; therefore the result is that of most pairs of blocks.

use heed::RoTxn;

use crate::options::BLOCKS_KEPT;
use crate::rows::keys;
use crate::rows::record;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::tables::Tables;
use sys::error::Result;

/// The slot time before the stored blocks show it: that of mainnet.
pub const SLOT_MS: u64 = 200;
/// Bounds of what they show. A server that claims absurd times changes it no further.
pub const SLOT_MS_MIN: u64 = 50;
pub const SLOT_MS_MAX: u64 = 2_000;

/// Fewer blocks with a time show nothing.
const BLOCKS_MIN: usize = 32;
/// The blocks of a pair are this part of the stored ones apart: a pause of the chain is in a
/// seventh of the pairs, and one wrong time in two of them.
const PAIR_PART: usize = 8;
/// They are at least this many blocks apart, because times are in whole seconds.
const PAIR_MIN: usize = 16;

impl Snapshot<'_> {
    /// The time of a slot in milliseconds, from [`SLOT_MS_MIN`] to [`SLOT_MS_MAX`].
    pub fn slot_ms(&self) -> Result<u64> {
        stored_slot_ms(self.tables(), &self.txn)
    }
}

impl Store {
    /// The number of slots that this time has at the stored blocks, at least 1.
    pub(crate) fn slots_in(&self, ms: u64, txn: &RoTxn<'_>) -> Result<u64> {
        Ok(ms.div_ceil(stored_slot_ms(&self.tables, txn)?).max(1))
    }
}

fn stored_slot_ms(tables: &Tables, txn: &RoTxn<'_>) -> Result<u64> {
    let mut times = Vec::new();
    for row in tables.blocks.rev_iter(txn)?.take(BLOCKS_KEPT as usize) {
        let (key, value) = row?;
        let slot = keys::slot_of(key);
        if let Some(time) = record::decode_block(slot, value).and_then(|block| block.block_time) {
            times.push((slot, time));
        }
    }
    times.reverse();
    Ok(slot_ms(&times))
}

/// The slot time of blocks given by slot and time in seconds, in ascending order of slots.
fn slot_ms(blocks: &[(u64, i64)]) -> u64 {
    if blocks.len() < BLOCKS_MIN {
        return SLOT_MS;
    }
    let apart = (blocks.len() / PAIR_PART).max(PAIR_MIN);
    let later = blocks.iter().skip(apart);
    let mut pairs: Vec<u64> = blocks.iter().zip(later).map(pair_ms).collect();
    let middle = pairs.len() / 2;
    let median = *pairs.select_nth_unstable(middle).1;
    // Pairs that differ from it by the rounding of one second only: their mean is more exact.
    let rounding = 1_000 / apart as u64 + 1;
    pairs.retain(|ms| ms.abs_diff(median) <= rounding);
    let sum: u128 = pairs.iter().copied().map(u128::from).sum();
    let mean = u64::try_from(sum / pairs.len().max(1) as u128).unwrap_or(u64::MAX);
    mean.clamp(SLOT_MS_MIN, SLOT_MS_MAX)
}

fn pair_ms((earlier, later): (&(u64, i64), &(u64, i64))) -> u64 {
    let seconds = u64::try_from(later.1.saturating_sub(earlier.1)).unwrap_or(0);
    let slots = later.0.saturating_sub(earlier.0).max(1);
    seconds.saturating_mul(1_000) / slots
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: i64 = 1_900_000_000;

    /// Blocks of consecutive slots, `ms` apart.
    fn chain(count: u64, ms: u64) -> Vec<(u64, i64)> {
        let time = |n: u64| START + i64::try_from(n * ms / 1_000).unwrap();
        (0..count).map(|n| (900 + n, time(n))).collect()
    }

    fn assert_near(blocks: &[(u64, i64)], expected: u64, name: &str) {
        let found = slot_ms(blocks);
        let tolerance = expected / 25;
        assert!(found.abs_diff(expected) <= tolerance, "{name}: {found} ms");
    }

    #[test]
    fn the_slot_time_is_that_of_the_blocks() {
        for ms in [50, 100, 150, 200, 300, 400, 1_000, 2_000] {
            assert_near(&chain(512, ms), ms, "512 blocks");
        }
        for ms in [100, 150, 200, 400] {
            let found = slot_ms(&chain(32, ms));
            assert!(
                found.abs_diff(ms) <= ms / 5,
                "32 blocks of {ms}: {found} ms"
            );
        }
    }

    #[test]
    fn few_blocks_show_nothing() {
        assert_eq!(slot_ms(&[]), SLOT_MS);
        assert_eq!(slot_ms(&chain(31, 400)), SLOT_MS);
    }

    #[test]
    fn skipped_slots_take_their_time_too() {
        let blocks: Vec<_> = chain(900, 200)
            .into_iter()
            .filter(|(slot, _)| slot % 7 > 2)
            .collect();
        assert_near(&blocks, 200, "three slots of seven are skipped");
        let gap: Vec<_> = chain(600, 200)
            .into_iter()
            .filter(|(slot, _)| !(1_100..1_180).contains(slot))
            .collect();
        assert_near(&gap, 200, "eighty in a row");
    }

    #[test]
    fn a_pause_of_the_chain_or_a_step_of_its_clock_changes_nothing() {
        for seconds in [-100_000, -60, 60, 3_600, 100_000] {
            for at in [0, 1, 100, 256, 400, 511] {
                let mut blocks = chain(512, 200);
                blocks
                    .iter_mut()
                    .skip(at)
                    .for_each(|(_, time)| *time += seconds);
                assert_near(&blocks, 200, &format!("{seconds} s at {at}"));
            }
        }
    }

    #[test]
    fn three_pauses_among_the_blocks_change_nothing() {
        let mut blocks = chain(512, 200);
        for at in [60, 220, 400] {
            let later = blocks.iter_mut().skip(at);
            later.for_each(|(_, time)| *time += 3_600);
        }
        assert_near(&blocks, 200, "three pauses");
    }

    #[test]
    fn wrong_times_of_single_blocks_change_nothing() {
        for wrong in [i64::MIN, -1, 0, i64::MAX] {
            let mut blocks = chain(512, 200);
            blocks
                .iter_mut()
                .step_by(10)
                .for_each(|(_, time)| *time = wrong);
            assert_near(&blocks, 200, &format!("every tenth is {wrong}"));
        }
    }

    #[test]
    fn a_server_that_claims_absurd_times_is_bounded() {
        let slots = 0..512_u64;
        let of = |time: fn(i64) -> i64| -> Vec<(u64, i64)> {
            let numbered = slots.clone().zip(0_i64..);
            numbered.map(|(slot, n)| (slot, time(n))).collect()
        };
        assert_eq!(slot_ms(&of(|_| 0)), SLOT_MS_MIN, "time stands still");
        assert_eq!(slot_ms(&of(|n| -n)), SLOT_MS_MIN, "time runs back");
        assert_eq!(
            slot_ms(&of(|n| n * 3_600)),
            SLOT_MS_MAX,
            "a slot takes an hour"
        );
        assert_eq!(
            slot_ms(&of(|n| n * (i64::MAX / 512))),
            SLOT_MS_MAX,
            "and longer"
        );
        let far: Vec<_> = slots
            .zip(START..)
            .map(|(n, time)| (n << 50, time))
            .collect();
        assert_eq!(slot_ms(&far), SLOT_MS_MIN, "slots are far apart");
    }

    #[test]
    fn a_change_of_the_slot_time_is_followed() {
        let mut blocks = chain(512, 400);
        let (slot, time) = blocks[511];
        let next = chain(512, 200);
        blocks.extend(
            next.iter()
                .map(|(s, t)| (slot + 1 + s - 900, time + t - START)),
        );
        assert_near(&blocks[..512], 400, "before");
        assert_near(&blocks[350..862], 200, "after 350 blocks");
    }

    proptest! {
        #[test]
        fn any_blocks_give_a_time_within_the_bounds(
            mut blocks in prop::collection::vec((any::<u64>(), any::<i64>()), 0..600),
        ) {
            blocks.sort_unstable();
            let found = slot_ms(&blocks);
            prop_assert!((SLOT_MS_MIN..=SLOT_MS_MAX).contains(&found));
        }
    }
}

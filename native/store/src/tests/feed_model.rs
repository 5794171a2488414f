//! Compares the segment files with a model over commits, failures, kills and changes of the limits.

use std::collections::BTreeMap;
use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;

use super::feed::{block_of, segments_of, sizes};
use super::history::feed;
use super::{assert_sound, noise, open, options};
use crate::history::feed_segments as segments;
use crate::testing::Temporary;
use crate::{Block, Options, Store};

/// More than a block takes in a file.
fn bytes_of(block: &Block) -> u64 {
    let accounts = block.accounts.iter();
    accounts.map(|update| update.data.len() as u64 + 400).sum()
}

#[derive(Debug, Clone)]
enum Step {
    Apply(Vec<Vec<usize>>),
    /// Appends a slot without a commit, as a commit that fails.
    Fail(Vec<usize>),
    /// A start after a kill, which left so many bytes behind the end.
    Kill(usize),
    /// The same, and a segment that was begun.
    KillInNext,
    Limits(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => vec(sizes(), 1..4).prop_map(Step::Apply),
        2 => sizes().prop_map(Step::Fail),
        2 => (0usize..5_000).prop_map(Step::Kill),
        1 => Just(Step::KillInNext),
        1 => (200u64..40_000, prop_oneof![Just(0), 10_000u64..2_000_000])
            .prop_map(|(ms, bytes)| Step::Limits(ms, bytes)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_is_what_was_committed(steps in vec(step(), 1..16)) {
        let mut kept = Options { feed_ms: 2_000, feed_bytes_max: 1 << 20, ..options() };
        let Temporary { store, dir } = open(&kept);
        let mut store = Some(store);
        // What each slot must give, and the bytes that were appended before it.
        let mut model = BTreeMap::new();
        let (mut slot, mut appended) = (0, 0);
        for step in steps {
            let reopen = |kept: &Options| Some(Store::open_writer(dir.path(), kept).unwrap());
            match step {
                Step::Apply(sizes) => {
                    let blocks: Vec<_> = (slot + 1..).zip(sizes).map(|(n, sizes)| block_of(n, &sizes)).collect();
                    store.as_ref().unwrap().apply_all(&blocks).unwrap();
                    slot += blocks.len() as u64;
                    for block in blocks {
                        let before = appended;
                        appended += bytes_of(&block);
                        model.insert(block.slot, (block, before));
                    }
                }
                Step::Fail(sizes) => {
                    let block = block_of(slot + 1, &sizes);
                    appended += bytes_of(&block);
                    let accounts = vec![block.accounts.iter().collect()];
                    let mut feed = store.as_ref().unwrap().feed.lock().unwrap();
                    let feed = feed.as_mut().unwrap();
                    feed.begin().unwrap();
                    feed.append(&[&block], &accounts, &[], u64::MAX).unwrap();
                }
                Step::Kill(bytes) => {
                    drop(store.take());
                    if let Some(last) = segments_of(dir.path()).0.last() {
                        let path = segments::path_of(&segments::dir_of(dir.path()), *last);
                        let mut content = fs::read(&path).unwrap();
                        content.extend(noise(slot, bytes));
                        fs::write(path, content).unwrap();
                    }
                    store = reopen(&kept);
                }
                Step::KillInNext => {
                    drop(store.take());
                    if let Some(last) = segments_of(dir.path()).0.last() {
                        let path = segments::path_of(&segments::dir_of(dir.path()), last + 1);
                        fs::write(path, noise(slot, 999)).unwrap();
                    }
                    store = reopen(&kept);
                }
                Step::Limits(feed_ms, feed_bytes_max) => {
                    kept = Options { feed_ms, feed_bytes_max, ..kept };
                    drop(store.take());
                    store = reopen(&kept);
                    // What a limit has removed stays away.
                    model.clear();
                }
            }
            let store = store.as_ref().unwrap();
            assert_sound(store);
            let (_, bytes) = segments_of(dir.path());
            let oldest = store.snapshot().unwrap().feed_oldest_slot().unwrap();
            for (number, (block, before)) in &model {
                let found = feed(store, *number);
                if let Some((accounts, transactions)) = &found {
                    prop_assert_eq!(accounts.len(), block.accounts.len());
                    for (update, (key, lamports, _, data)) in block.accounts.iter().zip(accounts) {
                        prop_assert!(update.pubkey == *key && update.lamports == *lamports && update.data == *data);
                    }
                    prop_assert_eq!(transactions, &block.transactions);
                }
                // The slots of the time, 1 s each, are there if they fit into the bytes. One that
                // fails may remove the oldest.
                let is_recent = *number + kept.feed_ms / 1_000 > slot + 1;
                let fits = appended - before < kept.feed_bytes_max / 4;
                prop_assert!(found.is_some() || !(is_recent && fits), "slot {number} of {slot}");
            }
            if kept.feed_bytes_max == 0 {
                prop_assert!(bytes == 0 && oldest.is_none());
            }
        }
    }
}

//! Tests of the retained history: blocks and the feed of changes.

use std::ops::ControlFlow;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{account, assert_sound, block, hash, noise, number, open, options};
use crate::testing::naive::Model;
use crate::testing::strategy::blocks;
use crate::{
    AccountUpdate, BLOCKS_KEPT, Block, Change, FeedEnd, FeedPosition, Options, Snapshot, Store,
    TransactionDetails, TransactionUpdate,
};
use primitives::Pubkey;

type Seen = Vec<(Pubkey, u64, Pubkey, Vec<u8>)>;

pub(super) fn feed(store: &Store, slot: u64) -> Option<(Seen, Vec<TransactionUpdate>)> {
    let (mut accounts, mut statuses) = (Vec::new(), Vec::new());
    let snapshot = store.snapshot().unwrap();
    let is_held = snapshot.feed(slot, &mut |change| {
        match change {
            Change::Account {
                pubkey, account, ..
            } => {
                assert_eq!(account.slot, slot);
                accounts.push((
                    *pubkey,
                    account.lamports,
                    *account.owner,
                    account.data.to_vec(),
                ));
            }
            Change::Status { signature, error } => {
                statuses.push(TransactionUpdate {
                    signature: *signature,
                    index: 0,
                    error: error.map(<[u8]>::to_vec),
                    details: None,
                });
            }
            Change::Transaction {
                signature,
                error,
                is_vote,
                keys,
                logs,
                full,
            } => statuses.push(TransactionUpdate {
                signature: *signature,
                index: 0,
                error: error.map(<[u8]>::to_vec),
                details: Some(TransactionDetails {
                    is_vote,
                    keys: keys.to_vec(),
                    logs: logs
                        .filter(|_| full.is_none())
                        .map(|line| String::from_utf8(line.to_vec()).unwrap())
                        .collect(),
                    full: full.map(<[u8]>::to_vec),
                    ..TransactionDetails::default()
                }),
            }),
        }
        Ok(())
    });
    is_held.unwrap().then_some((accounts, statuses))
}

pub(super) fn signature(n: u64) -> [u8; 64] {
    let mut signature = [n as u8; 64];
    signature[0..8].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    signature
}

fn details() -> impl Strategy<Value = TransactionDetails> {
    let lines = vec("[a-z \u{1F600}]{0,900}", 0..5);
    let full = proptest::option::of(vec(any::<u8>(), 0..5_000));
    let parts = (any::<bool>(), vec(any::<Pubkey>(), 0..4), lines, full);
    parts.prop_map(|(is_vote, keys, logs, full)| TransactionDetails {
        is_vote,
        keys,
        logs: if full.is_some() { Vec::new() } else { logs },
        full,
        ..TransactionDetails::default()
    })
}

/// A limited number of a slot's changes, as text.
fn shown(
    snapshot: &Snapshot<'_>,
    slot: u64,
    position: FeedPosition,
    max: usize,
) -> (Vec<String>, FeedEnd) {
    let mut seen = Vec::new();
    let end = snapshot.feed_from(slot, position, &mut |change| {
        if seen.len() == max {
            return Ok(ControlFlow::Break(()));
        }
        seen.push(format!("{change:?}"));
        Ok(ControlFlow::Continue(()))
    });
    (seen, end.unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_feed_returns_the_changes_of_each_slot(
        blocks in blocks(),
        errors in vec((any::<Option<u8>>(), option::of(details())), 0..40),
    ) {
        let temporary = open(&options());
        let statuses: Vec<_> = (0..).zip(errors).map(|(n, (error, details))| TransactionUpdate {
            signature: signature(n),
            index: 0,
            error: error.map(|byte| vec![byte; byte as usize % 5 + 1]),
            details,
        }).collect();
        for (slot, updates) in (1..).zip(&blocks) {
            let block = Block { transactions: statuses.clone(), ..block(slot, updates.clone()) };
            temporary.store.apply(&block).unwrap();
        }
        for (slot, updates) in (1..).zip(&blocks) {
            let mut after = Model::default();
            let alive = updates.iter().map(|update| {
                AccountUpdate { lamports: update.lamports.max(1), ..update.clone() }
            });
            after.apply(slot, &alive.collect::<Vec<_>>());
            let expected: Seen = after.accounts.keys().map(|key| {
                let last = updates.iter().rfind(|update| update.pubkey == *key).unwrap();
                match last.lamports {
                    0 => (*key, 0, [0; 32], Vec::new()),
                    lamports => (*key, lamports, last.owner, last.data.clone()),
                }
            }).collect();
            prop_assert_eq!(feed(&temporary.store, slot), Some((expected, statuses.clone())));
        }
        prop_assert_eq!(feed(&temporary.store, blocks.len() as u64 + 1), None);
        assert_sound(&temporary.store);
        // Stops before each change and resumes there; the remaining changes are the same.
        let snapshot = temporary.store.snapshot().unwrap();
        let all = shown(&snapshot, 1, FeedPosition::default(), usize::MAX).0;
        for stop in 0..all.len() {
            let (mut joined, end) = shown(&snapshot, 1, FeedPosition::default(), stop);
            let FeedEnd::Stopped(position) = end else { panic!("{end:?}") };
            joined.extend(shown(&snapshot, 1, position, usize::MAX).0);
            prop_assert_eq!(&joined, &all);
        }
    }
}

#[test]
fn the_feed_is_limited_in_time_and_bytes() {
    let large = |slot: u64| {
        let data = noise(slot, 10_000);
        block(slot, vec![account(number(slot), 1, [9; 32], &data)])
    };
    let temporary = open(&Options {
        feed_ms: 600,
        ..options()
    });
    for slot in 1..=9 {
        temporary.store.apply(&large(slot)).unwrap();
    }
    let stored_slots = |store: &Store| -> Vec<u64> {
        (1..=20)
            .filter(|slot| feed(store, *slot).is_some())
            .collect()
    };
    assert_eq!(stored_slots(&temporary.store), [7, 8, 9]);
    assert_eq!(
        temporary
            .store
            .snapshot()
            .unwrap()
            .feed_oldest_slot()
            .unwrap(),
        Some(7)
    );

    let temporary = open(&Options {
        feed_bytes_max: 25_000,
        ..options()
    });
    for slot in 1..=9 {
        temporary.store.apply(&large(slot)).unwrap();
    }
    assert_eq!(stored_slots(&temporary.store), [8, 9]);
    // Too large to be stored, which differs from an empty slot.
    let giant = account(number(0), 1, [9; 32], &noise(0, 30_000));
    temporary.store.apply(&block(10, vec![giant])).unwrap();
    temporary.store.apply(&block(11, vec![])).unwrap();
    assert_eq!(stored_slots(&temporary.store).last(), Some(&11));
    assert_eq!(feed(&temporary.store, 10), None);
    assert_eq!(feed(&temporary.store, 11), Some((vec![], vec![])));

    let dir = temporary.dir;
    drop(temporary.store);
    let off = Options {
        feed_bytes_max: 0,
        ..options()
    };
    let store = Store::open_writer(dir.path(), &off).unwrap();
    store.apply(&large(12)).unwrap();
    // What had no changes has nothing to lose.
    assert_eq!(stored_slots(&store), [11]);
    let folder = dir.path().join("feed");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn as_many_slots_are_kept_as_the_blocks_say_that_a_time_has() {
    for (name, slot_ms, expected) in [
        ("slow", 1_000, 10),
        ("fast", 125, 80),
        ("as assumed", 200, 50),
    ] {
        let temporary = open(&Options {
            feed_ms: 10_000,
            ..options()
        });
        for slot in 1..=200_u64 {
            let block = Block {
                block_time: Some(i64::try_from(slot * slot_ms / 1_000).unwrap()),
                ..block(slot, vec![])
            };
            temporary.store.apply(&block).unwrap();
        }
        let oldest = temporary.store.snapshot().unwrap().feed_oldest_slot();
        let kept = 201 - oldest.unwrap().unwrap();
        assert!(
            kept.abs_diff(expected) <= expected / 10,
            "{name}: {kept} slots"
        );
    }
    let temporary = open(&Options {
        feed_ms: 0,
        ..options()
    });
    temporary.store.apply(&block(1, vec![])).unwrap();
    assert_eq!(
        feed(&temporary.store, 1),
        Some((vec![], vec![])),
        "at least the tip's"
    );
}

#[test]
fn roots_never_decrease_or_exceed_the_slot() {
    let temporary = open(&options());
    let roots = [None, Some(0), Some(1), Some(9), None, Some(2), Some(6)];
    for (slot, root) in (1..).zip(roots) {
        let block = Block {
            root,
            ..block(slot, vec![])
        };
        temporary.store.apply(&block).unwrap();
    }
    let snapshot = temporary.store.snapshot().unwrap();
    let stored = (1..=7).map(|slot| snapshot.block(slot).unwrap().unwrap().root);
    assert_eq!(stored.collect::<Vec<_>>(), [0, 0, 1, 4, 4, 4, 6]);
    assert_eq!(snapshot.tip().unwrap().root, 6);
    let after = [None, Some(0), Some(3), Some(7)].map(|slot| snapshot.block_after(slot).unwrap());
    let after = after.map(|block| block.map(|block| block.slot));
    assert_eq!(after, [Some(1), Some(1), Some(4), None]);
}

#[test]
fn the_last_blocks_are_found_by_slot_and_hash() {
    let temporary = open(&Options {
        feed_ms: 1_000,
        ..options()
    });
    let all: Vec<_> = (1..=BLOCKS_KEPT + 20)
        .map(|slot| block(slot, vec![]))
        .collect();
    temporary.store.apply_all(&all).unwrap();
    let snapshot = temporary.store.snapshot().unwrap();
    let tip = snapshot.slot();
    assert_eq!(snapshot.block(20).unwrap(), None);
    assert_eq!(snapshot.block(21).unwrap().unwrap().blockhash, hash(21));
    let newest = snapshot.tip().unwrap();
    let slot_of = |hash: &[u8; 32], newest| {
        let found = snapshot.block_of_hash(hash, newest, 150).unwrap();
        found.map(|block| block.slot)
    };
    assert_eq!(slot_of(&hash(tip - 150), newest), Some(tip - 150));
    assert_eq!(slot_of(&hash(tip - 151), newest), None);
    assert_eq!(slot_of(&[9; 32], newest), None);
    // By an older block: what came after it is not known, and what is too old for the tip is.
    let older = snapshot.block(tip - 5).unwrap().unwrap();
    assert_eq!(slot_of(&hash(tip - 4), &older), None);
    assert_eq!(slot_of(&hash(tip - 5), &older), Some(tip - 5));
    assert_eq!(slot_of(&hash(tip - 155), &older), Some(tip - 155));
    assert_eq!(slot_of(&hash(tip - 156), &older), None);
}

#[test]
fn the_newest_finalized_block_is_that_of_the_newest_known_root() {
    let temporary = open(&options());
    let store = &temporary.store;
    let finalized = || {
        let found = store.snapshot().unwrap().finalized();
        found.map(|found| found.map(|block| (block.slot, block.blockhash, block.block_height)))
    };
    let of = |slot: u64| Some((slot, hash(slot), block(slot, vec![]).block_height));
    let rooted = |slot, root| Block {
        root,
        ..block(slot, vec![])
    };
    assert_eq!(finalized().unwrap(), None, "an empty store");
    let cases = [
        (rooted(10, None), 10, "no slot is finalized: the tip"),
        (
            rooted(11, Some(9)),
            11,
            "one before the first block: the tip",
        ),
        (rooted(12, Some(10)), 10, "the finalized block"),
        (rooted(13, None), 10, "it stays the newest"),
        (rooted(14, Some(9)), 10, "never an older one"),
        (
            rooted(15, Some(99)),
            15,
            "a feed that is ahead: at most the tip",
        ),
    ];
    for (next, expected, name) in cases {
        store.apply(&next).unwrap();
        assert_eq!(finalized().unwrap(), of(expected), "{name}");
    }
    let silent: Vec<_> = (16..=14 + BLOCKS_KEPT)
        .map(|slot| block(slot, vec![]))
        .collect();
    store.apply_all(&silent).unwrap();
    assert_eq!(
        finalized().unwrap(),
        of(15),
        "the oldest block that is kept"
    );
    store.apply(&block(15 + BLOCKS_KEPT, vec![])).unwrap();
    let error = finalized().unwrap_err();
    assert_eq!(error.name(), "nodeUnhealthy", "finality stopped long ago");
}

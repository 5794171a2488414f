//! Tests of the retained outcomes of transactions.

use super::history::signature;
use super::{block, open, options};
use crate::{Block, Options, Store, TransactionUpdate};

#[test]
fn outcomes_are_found_until_their_slots_are_dropped() {
    let temporary = open(&Options {
        signature_slots_max: 40,
        ..options()
    });
    for slot in 1..=200u64 {
        let statuses = (0..5).map(|n| TransactionUpdate {
            signature: signature(slot * 5 + n),
            index: n as u32,
            error: (n == 3).then(|| vec![8, 0, 0, 0]),
            details: None,
        });
        let block = Block {
            transactions: statuses.collect(),
            ..block(slot, vec![])
        };
        temporary.store.apply(&block).unwrap();
    }
    let snapshot = temporary.store.snapshot().unwrap();
    for slot in 161..=200 {
        let found = snapshot.signature(&signature(slot * 5)).unwrap().unwrap();
        assert_eq!(
            (found.slot, found.index, found.error),
            (slot, Some(0), None)
        );
        let failed = snapshot
            .signature(&signature(slot * 5 + 3))
            .unwrap()
            .unwrap();
        let error = Some(&[8, 0, 0, 0][..]);
        assert_eq!(
            (failed.slot, failed.index, failed.error),
            (slot, Some(3), error)
        );
    }
    assert_eq!(snapshot.signature(&signature(100 * 5)).unwrap(), None);
    assert_eq!(snapshot.signature(&signature(5)).unwrap(), None);
    drop(snapshot);
    let rows = outcomes(&temporary.store);
    assert!(rows <= 5 * (40 + 16), "{rows}");
}

#[test]
fn outcomes_are_searched_from_a_slot_and_known_after_one() {
    let temporary = open(&Options {
        signature_slots_max: 40,
        ..options()
    });
    let store = &temporary.store;
    assert_eq!(store.snapshot().unwrap().outcomes_after().unwrap(), None);
    for slot in 1..=100u64 {
        let status = TransactionUpdate {
            signature: signature(slot),
            index: 0,
            error: None,
            details: None,
        };
        let block = Block {
            transactions: vec![status],
            ..block(slot, vec![])
        };
        store.apply(&block).unwrap();
        if slot == 20 {
            let known = store.snapshot().unwrap().outcomes_after().unwrap();
            assert_eq!(known, Some(1), "the first block may be a loaded one");
        }
    }
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.outcomes_after().unwrap(), Some(60));
    let found = |of: u64, since: u64| {
        let found = snapshot.signature_since(&signature(of), since).unwrap();
        found.map(|found| found.slot)
    };
    assert_eq!(found(70, 0), Some(70));
    assert_eq!(found(70, 70), Some(70));
    assert_eq!(found(70, 80), None, "a group before it is not searched");
    assert_eq!(found(70, 200), None, "after the tip");
}

/// Rows of `signatures`.
fn outcomes(store: &Store) -> u64 {
    let entries = store.stats().unwrap().entries;
    let rows = entries.iter().find(|(name, _)| *name == "signatures");
    rows.unwrap().1
}

#[test]
fn old_outcomes_are_dropped_over_several_commits() {
    let temporary = open(&Options {
        signature_slots_max: 16,
        ..options()
    });
    let statuses = (0..5_000).map(|n| TransactionUpdate {
        signature: signature(n),
        index: 0,
        error: None,
        details: None,
    });
    let large = Block {
        transactions: statuses.collect(),
        ..block(1, vec![])
    };
    temporary.store.apply(&large).unwrap();
    let mut rows = 5_000;
    for slot in 2..=60 {
        temporary.store.apply(&block(slot, vec![])).unwrap();
        let left = outcomes(&temporary.store);
        assert!(rows - left <= 1_001, "slot {slot} dropped {}", rows - left);
        rows = left;
    }
    assert_eq!(rows, 0);
}

//! Tests of the verification in slices: it reports nothing in sound stores, finds the same damaged
//! tables as the full check, and ignores blocks applied between its slices.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{account, block, number, open, options, token_data};
use crate::tables::Db;
use crate::testing::strategy::blocks;
use crate::{Store, Verifier, VerifyLimits};
use primitives::token::TOKEN_PROGRAM;

fn limits(slice_rows_max: u64) -> VerifyLimits {
    VerifyLimits {
        slice_rows_max,
        slice_max: Duration::from_secs(60),
        program_rows_max: 1_000,
        differences_max: 10_000,
    }
}

/// Verifies to the end, and calls `between` after each slice.
fn verify(store: &Store, limits: VerifyLimits, mut between: impl FnMut()) -> Vec<String> {
    let mut verifier = Verifier::new(limits);
    let mut rows = 0;
    while {
        let slice = verifier.slice(store).unwrap();
        rows += slice.rows;
        !slice.is_last
    } {
        between();
    }
    assert!(rows > 0 || Verifier::rows_total(store).unwrap() == 0);
    verifier.found().to_vec()
}

fn tables_of(sentences: &[String]) -> BTreeSet<String> {
    let name = |sentence: &String| sentence.split(':').next().unwrap_or_default().to_string();
    sentences.iter().map(name).collect()
}

/// The tables that the tests damage.
fn tables(store: &Store) -> [Db; 9] {
    let t = &store.tables;
    [
        t.accounts,
        t.by_program,
        t.by_discriminator,
        t.by_mint,
        t.by_token_owner,
        t.holders,
        t.changed,
        t.programs,
        t.blocks,
    ]
}

#[derive(Debug, Clone, Copy)]
enum Damage {
    Missing,
    Moved(u8),
    Value(usize, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        Just(Damage::Missing),
        (1u8..=255).prop_map(Damage::Moved),
        (any::<usize>(), 1u8..=255).prop_map(|(at, by)| Damage::Value(at, by)),
    ]
}

/// Damages one row of one table; false if it has no such row.
fn spoil(store: &Store, table: usize, row: usize, damage: Damage) -> bool {
    let mut txn = store.env.write_txn().unwrap();
    let db = tables(store)[table];
    let rows = db.len(&txn).unwrap() as usize;
    if rows == 0 {
        return false;
    }
    let found = db.iter(&txn).unwrap().nth(row % rows).unwrap().unwrap();
    let (mut key, mut value) = (found.0.to_vec(), found.1.to_vec());
    match damage {
        Damage::Missing => {
            db.delete(&mut txn, &key).unwrap();
        }
        Damage::Moved(by) => {
            db.delete(&mut txn, &key).unwrap();
            *key.last_mut().unwrap() ^= by;
            db.put(&mut txn, &key, &value).unwrap();
        }
        Damage::Value(at, by) => {
            if value.is_empty() {
                return false;
            }
            let at = at % value.len();
            value[at] ^= by;
            db.put(&mut txn, &key, &value).unwrap();
        }
    }
    txn.commit().unwrap();
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_damage_is_found_like_in_the_full_check(
        blocks in blocks(),
        slice_rows_max in 1u64..9,
        damages in vec((0usize..9, any::<usize>(), damage()), 0..3),
    ) {
        let temporary = open(&options());
        let store = &temporary.store;
        for (slot, updates) in (1..).zip(blocks) {
            store.apply(&block(slot, updates)).unwrap();
        }
        prop_assert_eq!(verify(store, limits(slice_rows_max), || ()), Vec::<String>::new());
        for (table, row, damage) in damages {
            spoil(store, table, row, damage);
        }
        // The full check reads the tip, which may be the damaged row.
        let (Ok(checked), Ok(_)) = (store.check(), store.tip()) else {
            return Ok(());
        };
        let verified = verify(store, limits(slice_rows_max), || ());
        let (said, found) = (tables_of(&checked), tables_of(&verified));
        prop_assert!(said.is_empty() || !found.is_empty(), "{checked:?}");
        // The full check then counts and ranks along damaged rows.
        if !found.contains("accounts") && !found.contains("by_mint") {
            prop_assert!(said.is_subset(&found), "{checked:?} but {verified:?}");
        }
        // The full check skips counts of programs without rows in `changed`.
        let others: Vec<_> = verified.iter().filter(|s| !s.starts_with("changed: ")).collect();
        prop_assert!(!checked.is_empty() || others.is_empty(), "{others:?}");
    }
}

#[test]
fn blocks_between_slices_cause_no_differences() {
    let temporary = open(&options());
    let store = &temporary.store;
    let mint = number(1);
    // Creates accounts, changes their mint, owner and amount, and closes them, before and after the
    // current slice.
    let change = |slot: u64| {
        let updates = (0..40).map(|n| {
            let key = number(100 + (n * 7 + slot * 3) % 120);
            match (slot + n) % 4 {
                0 => account(key, 0, [0; 32], &[]),
                1 => account(key, 1, [9; 32], b"discriminator"),
                _ => {
                    let of = if n % 2 == 0 { mint } else { number(2) };
                    let data = token_data(&of, &number(n % 5), slot * n % 11, 1);
                    account(key, 1, TOKEN_PROGRAM, &data)
                }
            }
        });
        let mut updates: Vec<_> = updates.collect();
        updates.sort_by_key(|update| update.pubkey);
        updates.dedup_by_key(|update| update.pubkey);
        store.apply(&block(slot, updates)).unwrap();
    };
    (1..20).for_each(&change);
    let mut slot = 20;
    let found = verify(store, limits(3), || {
        if slot < 200 {
            change(slot);
            slot += 1;
        }
    });
    assert_eq!(found, Vec::<String>::new());
    assert!(slot > 100, "slices were few: {slot}");
}

#[test]
fn differences_and_counts_are_limited() {
    let temporary = open(&options());
    let store = &temporary.store;
    let accounts = (0..50).map(|n| account(number(n), 1, [9; 32], b"discriminator"));
    store.apply(&block(1, accounts.collect())).unwrap();
    let mut txn = store.env.write_txn().unwrap();
    store.tables.by_discriminator.clear(&mut txn).unwrap();
    txn.commit().unwrap();
    let few = VerifyLimits {
        differences_max: 7,
        ..limits(4)
    };
    assert_eq!(verify(store, few, || ()).len(), 7);

    let uncounted = VerifyLimits {
        program_rows_max: 49,
        ..limits(100)
    };
    let mut verifier = Verifier::new(uncounted);
    while !verifier.slice(store).unwrap().is_last {}
    assert_eq!(verifier.uncounted(), 1);
    assert_eq!(verifier.found().len(), 50);
}

#[test]
fn a_copy_is_a_sound_store_with_the_same_tip() {
    let temporary = open(&options());
    let store = &temporary.store;
    for slot in 1..10 {
        let accounts = (0..50).map(|n| account(number(n), slot, [9; 32], b"discriminator"));
        store.apply(&block(slot, accounts.collect())).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    store.copy_to(dir.path()).unwrap();
    assert!(store.copy_to(dir.path()).is_err(), "never over a file");
    let copy = Store::open_writer(dir.path(), &options()).unwrap();
    assert_eq!(copy.tip().unwrap(), store.tip().unwrap());
    super::assert_sound(&copy);
    // It has no changes, and those that follow are never taken for others.
    assert_eq!(super::history::feed(&copy, 9), None);
    let next = account(number(7), 10, [9; 32], b"discriminator");
    assert!(copy.apply(&block(10, vec![next])).unwrap().is_new);
    assert_eq!(super::history::feed(&copy, 9), None);
    assert!(super::history::feed(&copy, 10).is_some());
    super::assert_sound(&copy);
}

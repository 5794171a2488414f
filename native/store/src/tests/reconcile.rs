//! Tests of sweep corrections, and of blocks applied over accounts newer than the tip.

use proptest::prelude::*;

use super::*;
use crate::indexes::delta::IndexDelta;
use crate::row_codec::{PackedRow, PackedRows};
use crate::rows::keys::Indexed;
use crate::rows::record;
use crate::{AccountRef, Compared, Scope};
use primitives::token::CLOCK_SYSVAR;

const PROGRAM: Pubkey = [9; 32];
const OTHER: Pubkey = [8; 32];
const BYTES_MAX: usize = 1 << 20;

/// A row of an upstream RPC; without an owner there is no account.
fn packed(slot: u64, pubkey: Pubkey, lamports: u64, owner: &Pubkey, data: &[u8]) -> Vec<u8> {
    let account = AccountRef {
        slot,
        lamports,
        rent_epoch: 0,
        executable: false,
        owner,
        data,
    };
    let mut bytes = Vec::new();
    PackedRow {
        pubkey: &pubkey,
        account,
    }
    .write(&mut bytes);
    bytes
}

fn scoped() -> Options {
    Options {
        scope: Scope::Listed {
            programs: vec![PROGRAM],
            mints: vec![],
            pubkeys: vec![],
        },
        ..options()
    }
}

fn compare(store: &Store, rows: &[Vec<u8>]) -> Compared {
    store
        .compare(PackedRows::new(&rows.concat()), BYTES_MAX)
        .unwrap()
}

fn lamports(store: &Store, pubkey: Pubkey) -> Option<u64> {
    let snapshot = store.snapshot().unwrap();
    let account = snapshot.account(&pubkey).unwrap();
    account.map(|account| account.lamports)
}

#[test]
fn changes_missing_from_the_feed_are_corrected_with_the_next_block() {
    for options in [options(), scoped()] {
        let store = open(&options);
        let keys: Vec<Pubkey> = (1..=4).map(|i| [i; 32]).collect();
        let accounts = keys.iter().map(|key| account(*key, 5, PROGRAM, &[1; 9]));
        store.store.apply(&block(10, accounts.collect())).unwrap();
        let rows = [
            packed(10, keys[0], 5, &PROGRAM, &[1; 9]),
            packed(10, keys[1], 0, &[0; 32], &[]),
            packed(10, keys[2], 7, &PROGRAM, &[2; 3]),
            packed(10, keys[3], 5, &OTHER, &[1; 9]),
        ];
        let found = compare(&store.store, &rows);
        assert_eq!((found.equal, found.different), (1, 3));
        assert_eq!(store.store.correction_stats().waiting, 3);
        assert_eq!(
            lamports(&store.store, keys[1]),
            Some(5),
            "not before a block"
        );

        let applied = store.store.apply(&block(11, vec![])).unwrap();
        assert_eq!(applied.corrected, 3);
        let stats = store.store.correction_stats();
        assert_eq!((stats.waiting, stats.corrected), (0, 3));
        assert_eq!(lamports(&store.store, keys[0]), Some(5));
        assert_eq!(lamports(&store.store, keys[1]), None);
        assert_eq!(lamports(&store.store, keys[2]), Some(7));
        let left = options.scope == Scope::All;
        assert_eq!(lamports(&store.store, keys[3]).is_some(), left);
        assert_sound(&store.store);
        assert_eq!(compare(&store.store, &rows).different, 0);
    }
}

#[test]
fn a_row_newer_than_the_tip_waits_for_blocks_that_may_explain_it() {
    let store = open(&options());
    let keys = [[1; 32], [2; 32]];
    let accounts = keys.map(|key| account(key, 5, PROGRAM, &[]));
    store.store.apply(&block(10, accounts.into())).unwrap();
    let rows = keys.map(|key| packed(12, key, 6, &PROGRAM, &[]));
    assert_eq!(compare(&store.store, &rows).different, 2);
    let update = block(11, vec![account(keys[0], 6, PROGRAM, &[])]);
    assert_eq!(store.store.apply(&update).unwrap().corrected, 0);
    assert_eq!(store.store.apply(&block(12, vec![])).unwrap().corrected, 0);
    assert_eq!(store.store.apply(&block(13, vec![])).unwrap().corrected, 1);
    assert_eq!(keys.map(|key| lamports(&store.store, key)), [Some(6); 2]);
    assert_sound(&store.store);
}

#[test]
fn a_newer_block_takes_precedence_over_a_row() {
    let store = open(&options());
    let key = [1; 32];
    let write = |slot, lamports| block(slot, vec![account(key, lamports, PROGRAM, &[])]);
    store.store.apply(&write(10, 5)).unwrap();
    store.store.apply(&write(11, 6)).unwrap();
    let old = packed(10, key, 5, &PROGRAM, &[]);
    assert_eq!(compare(&store.store, &[old]).newer, 1);
    let other = packed(11, key, 9, &PROGRAM, &[]);
    assert_eq!(compare(&store.store, &[other]).different, 1);
    store.store.apply(&write(12, 7)).unwrap();
    assert_eq!(
        lamports(&store.store, key),
        Some(7),
        "the block's own write"
    );
    let gone = packed(12, [2; 32], 9, &PROGRAM, &[]);
    assert_eq!(compare(&store.store, &[gone]).newer, 1);
    assert_sound(&store.store);
}

#[test]
fn waiting_corrections_are_limited() {
    let store = open(&options());
    let keys: Vec<Pubkey> = (1..=8).map(|i| [i; 32]).collect();
    let accounts = keys.iter().map(|key| account(*key, 5, PROGRAM, &[]));
    store.store.apply(&block(10, accounts.collect())).unwrap();
    let rows: Vec<_> = keys
        .iter()
        .map(|key| packed(10, *key, 6, &PROGRAM, &[0; 1_000]))
        .collect();
    let found = store
        .store
        .compare(PackedRows::new(&rows.concat()), 4_000)
        .unwrap();
    assert_eq!((found.different, found.dropped), (8, 5));
    assert_eq!(store.store.correction_stats().waiting, 3);
    let cut = &rows[0][..50];
    assert!(
        store
            .store
            .compare(PackedRows::new(cut), BYTES_MAX)
            .is_err()
    );
}

#[test]
fn addresses_are_ordered_and_limited() {
    let store = open(&options());
    let mut accounts = vec![account(CLOCK_SYSVAR, 1, OTHER, &[0; 40])];
    accounts.extend((1..=20).map(|i| account([i; 32], 1, PROGRAM, &vec![0; usize::from(i) * 100])));
    store.store.apply(&block(1, accounts)).unwrap();
    let snapshot = store.store.snapshot().unwrap();
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let keys = snapshot.keys_after(after.as_ref(), 5, 1_500).unwrap();
        let Some(last) = keys.last() else { break };
        assert!(keys.len() <= 5);
        after = Some(*last);
        all.extend(keys);
    }
    assert_eq!(all.len(), 21);
    assert!(all.is_sorted());
}

/// Fills a store like a load: the tip is the base, and each account is as of a different slot.
fn load(store: &Store, base: &Block, rows: &[AccountUpdate], slots: &[u64]) {
    let bare = Block {
        accounts: Vec::new(),
        ..base.clone()
    };
    store.apply(&bare).unwrap();
    let mut txn = store.env.write_txn().unwrap();
    let mut delta = IndexDelta::new(&store.options.changed);
    let mut rows: Vec<_> = rows.iter().zip(slots).collect();
    rows.sort_by_key(|(row, _)| row.pubkey);
    for (row, slot) in rows {
        let account = row.at(*slot);
        let record = [&record::encode_head(&account)[..], account.data].concat();
        store
            .tables
            .accounts
            .put(&mut txn, &row.pubkey, &record)
            .unwrap();
        delta.push(&row.pubkey, None, Some(&Indexed::of(&account)));
    }
    store
        .with_refills(|refills| delta.write(&store.tables, &mut txn, refills))
        .unwrap();
    txn.commit().unwrap();
}

/// An update of one of few keys, so that updates collide.
fn any_update() -> impl Strategy<Value = (u8, u64, bool)> {
    (0..6_u8, 0..3_u64, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each account is read at a different slot after the base. After all of these slots are
    /// applied, the store equals one in which every block was applied to the base.
    #[test]
    fn blocks_over_rows_read_at_different_slots_give_the_same_state(
        blocks in proptest::collection::vec(proptest::collection::vec(any_update(), 0..6), 8),
        read_at in proptest::collection::vec(0..6_usize, 6),
    ) {
        let update = |(key, lamports, is_ours): (u8, u64, bool)| {
            let owner = if is_ours { PROGRAM } else { OTHER };
            account([key + 1; 32], lamports, owner, &[key, lamports as u8])
        };
        let blocks: Vec<Block> = (11..).zip(&blocks)
            .map(|(slot, updates)| block(slot, updates.iter().copied().map(update).collect()))
            .collect();
        let truth = open(&scoped());
        let base = block(10, (0..6).map(|key| update((key, 1, key % 2 == 0))).collect());
        truth.store.apply(&base).unwrap();
        // The result of reading each key at its slot.
        let mut rows: Vec<AccountUpdate> = Vec::new();
        let loaded = open(&scoped());
        for (at, block) in blocks.iter().enumerate() {
            let snapshot = truth.store.snapshot().unwrap();
            for key in (0..6).filter(|key| read_at[usize::from(*key)] == at) {
                let pubkey = [key + 1; 32];
                if let Some(found) = snapshot.account(&pubkey).unwrap() {
                    rows.push(AccountUpdate { lamports: found.lamports,
                        ..account(pubkey, 0, *found.owner, found.data) });
                }
            }
            drop(snapshot);
            truth.store.apply(block).unwrap();
        }
        let slots: Vec<u64> = rows.iter()
            .map(|row| 10 + read_at[usize::from(row.pubkey[0] - 1)] as u64).collect();
        load(&loaded.store, &base, &rows, &slots);
        for block in &blocks {
            loaded.store.apply(block).unwrap();
            assert_sound(&loaded.store);
        }
        for key in 1..=6 {
            let [one, other] = [&truth.store, &loaded.store].map(|store| {
                let snapshot = store.snapshot().unwrap();
                snapshot.account(&[key; 32]).unwrap()
                    .map(|found| (found.lamports, *found.owner, found.data.to_vec()))
            });
            prop_assert_eq!(one, other, "key {}", key);
        }
    }
}

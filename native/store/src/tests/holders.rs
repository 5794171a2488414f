//! Tests of the largest accounts of a mint, with balances that enter and leave its row.

use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;

use super::{
    TOKEN_2022_PROGRAM, TOKEN_PROGRAM, Temporary, account, assert_sound, block, long_budget,
    mint_data, number, open, options, token_data,
};
use crate::indexes::holder_row::Move;
use crate::testing::naive::Model;
use crate::{AccountUpdate, HOLDERS_MAX, Newest, Snapshot, Store};
use primitives::token::TokenProgram;
use sys::error::Error;

const LONG: Duration = Duration::from_secs(600);

const MINT: [u8; 32] = [0xAA; 32];
const WALLET: [u8; 32] = [0xBB; 32];

/// A change of one account: a new balance, or a close.
fn change() -> impl Strategy<Value = (u64, Option<u64>, u8)> {
    let some = |below: u64| (0..below).prop_map(Some);
    let amount = prop_oneof![3 => Just(None), 3 => some(5), 4 => some(1_000)];
    (0u64..300, amount, 0u8..8)
}

fn to_update((n, amount, state): (u64, Option<u64>, u8)) -> AccountUpdate {
    // Mostly initialised, sometimes frozen, sometimes not yet initialised.
    let state = [1, 1, 1, 1, 1, 1, 2, 0][state as usize];
    let data = token_data(&MINT, &WALLET, amount.unwrap_or(0), state);
    account(number(n), u64::from(amount.is_some()), TOKEN_PROGRAM, &data)
}

/// The 20 largest as a reader tells them: from the row, or from all accounts while it is short.
fn largest_of(snapshot: &Snapshot<'_>) -> Vec<(u64, [u8; 32])> {
    let scanned = snapshot.scan_holders(TokenProgram::Token, &MINT, 20, &mut long_budget());
    let scanned = scanned.unwrap();
    let known = snapshot.holders(TokenProgram::Token, &MINT, 20).unwrap();
    assert!(known.is_none_or(|known| known == scanned));
    scanned
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn the_largest_accounts_are_always_known(
        first in vec((0u64..300, (0u64..1_000).prop_map(Some), 0u8..8), 0..300),
        blocks in vec((vec(change(), 0..120), 0usize..3), 1..8),
        closed in 0u64..300,
    ) {
        let temporary = open(&options());
        let mut model = Model::default();
        let mut apply = |slot: u64, updates: Vec<AccountUpdate>| {
            temporary.store.apply(&block(slot, updates.clone())).unwrap();
            model.apply(slot, &updates);
            let snapshot = temporary.store.snapshot().unwrap();
            assert_eq!(largest_of(&snapshot), model.holders(TokenProgram::Token, &MINT));
        };
        let mut updates = vec![account(MINT, 1, TOKEN_PROGRAM, &mint_data())];
        updates.extend(first.into_iter().map(to_update));
        apply(1, updates);
        let mut slot = 1;
        for (changes, slices) in blocks {
            slot += 1;
            apply(slot, changes.into_iter().map(to_update).collect());
            for _ in 0..slices {
                // Past deadlines: each slice looks at 256 accounts.
                temporary.store.refill_holders(Instant::now()).unwrap();
            }
        }
        // Closes all large accounts at once, so that the row becomes short.
        let close = |n| account(number(n), 0, TOKEN_PROGRAM, &[]);
        apply(slot + 1, (closed..300).map(close).collect());
        assert_sound(&temporary.store);
        apply(slot + 2, (0..closed).map(close).collect());
        assert_sound(&temporary.store);
        // An account that is no holder may have been the last one of a short row.
        temporary.store.refill_holders(Instant::now() + LONG).unwrap();
        apply(slot + 3, Vec::new());
        assert_sound(&temporary.store);
        let entries = temporary.store.stats().unwrap().entries;
        prop_assert!(entries.contains(&("holders", 0)));
    }
}

/// Accounts of the mint: `n` has balance `n`.
fn holders(count: u64) -> Vec<AccountUpdate> {
    let mut updates = vec![account(MINT, 1, TOKEN_PROGRAM, &mint_data())];
    updates.extend((0..count).map(|n| to_update((n, Some(n), 0))));
    updates
}

fn known(store: &Store) -> Option<Vec<(u64, [u8; 32])>> {
    let snapshot = store.snapshot().unwrap();
    snapshot.holders(TokenProgram::Token, &MINT, 20).unwrap()
}

/// Empties the accounts in this range.
fn emptied(range: std::ops::Range<u64>) -> Vec<AccountUpdate> {
    range.map(|n| to_update((n, Some(0), 0))).collect()
}

fn from(last: u64) -> Option<Vec<(u64, [u8; 32])>> {
    Some((0..20).map(|i| (last - i, number(last - i))).collect())
}

#[test]
fn a_short_row_is_refilled_between_commits_and_its_list_follows() {
    let temporary = open(&options());
    let store = &temporary.store;
    store.apply(&block(1, holders(3_000))).unwrap();
    assert_eq!(known(store), from(2_999));
    store.apply(&block(2, emptied(2_900..3_000))).unwrap();
    assert_eq!(known(store), None, "the row is short");
    assert_eq!(store.stats().unwrap().short_holders, 1);
    assert_sound(store);
    // A commit between two slices changes accounts that were looked at, and others.
    assert!(store.refill_holders(Instant::now()).unwrap());
    let seen = |balance| to_update((5, Some(balance), 0));
    let changes = [emptied(2_890..2_900), vec![seen(9_000)]].concat();
    store.apply(&block(3, changes)).unwrap();
    while store.refill_holders(Instant::now()).unwrap() {}
    assert_eq!(known(store), None, "it is written with the next commit");
    store.apply(&block(4, Vec::new())).unwrap();
    let first = known(store).and_then(|known| known.first().copied());
    assert_eq!(first, Some((9_000, number(5))));
    assert_eq!(store.stats().unwrap().short_holders, 0);
    assert_sound(store);
    store.apply(&block(5, vec![seen(0)])).unwrap();
    assert_eq!(known(store), from(2_889));
    // From now on each slot may empty a whole row.
    for slot in 6..31 {
        let end = 2_890 - 100 * (slot - 6);
        store.apply(&block(slot, emptied(end - 100..end))).unwrap();
        assert_eq!(known(store), from(end - 101), "slot {slot}");
    }
    assert_sound(store);
}

#[test]
fn a_short_row_is_refilled_after_a_restart_and_in_a_copy() {
    let temporary = open(&options());
    let Temporary { store, dir } = temporary;
    store.apply(&block(1, holders(300))).unwrap();
    store.apply(&block(2, emptied(200..300))).unwrap();
    assert_eq!(known(&store), None);
    drop(store);
    let store = Store::open_writer(dir.path(), &options()).unwrap();
    assert!(!store.refill_holders(Instant::now() + LONG).unwrap());
    store.apply(&block(3, Vec::new())).unwrap();
    assert_eq!(known(&store), from(199));
    assert!(!store.refill_holders(Instant::now() + LONG).unwrap());

    let tip = store.tip().unwrap().unwrap();
    let mut caught_up = store.catch_up(3, &tip).unwrap();
    for n in 100..200 {
        caught_up.take(&number(n), 4, Newest::Gone).unwrap();
    }
    caught_up.finish(&tip).unwrap();
    assert_eq!(
        known(&store),
        from(99),
        "a store that caught up has no short row"
    );
    assert_sound(&store);
}

#[test]
fn a_failed_commit_drops_what_its_refills_followed() {
    let temporary = open(&options());
    let store = &temporary.store;
    store.apply(&block(1, holders(300))).unwrap();
    store.apply(&block(2, emptied(200..300))).unwrap();
    store.refill_holders(Instant::now() + LONG).unwrap();
    // The second block has too large an account, after the refill followed the first.
    let failed = store.with_refills(|refills| {
        let mint = (TokenProgram::Token, MINT);
        let old = Some((199, number(199)));
        refills.follow(&mint, &[Move { old, new: None }]);
        Err::<(), _>(Error::Cancelled)
    });
    assert!(failed.is_err());
    store.refill_holders(Instant::now() + LONG).unwrap();
    store.apply(&block(3, Vec::new())).unwrap();
    assert_eq!(known(store), from(199));
    assert_sound(store);
}

#[test]
fn a_store_of_schema_2_is_opened_and_marked() {
    let Temporary { store, dir } = open(&options());
    let mut txn = store.env.write_txn().unwrap();
    let put = |txn: &mut _, schema: u32| {
        let meta = &store.tables.meta;
        meta.put(txn, b"schema", &schema.to_be_bytes()).unwrap();
    };
    put(&mut txn, 2);
    txn.commit().unwrap();
    drop(store);
    drop(Store::open_reader(dir.path(), &options()).unwrap());
    let store = Store::open_writer(dir.path(), &options()).unwrap();
    let txn = store.env.read_txn().unwrap();
    let schema = store.tables.meta.get(&txn, b"schema").unwrap();
    assert_eq!(schema, Some(&crate::SCHEMA.to_be_bytes()[..]));
}

#[test]
fn ties_are_in_descending_order_of_pubkeys_and_other_programs_are_ignored() {
    let temporary = open(&options());
    let data = token_data(&MINT, &WALLET, 5, 1);
    let mut updates = vec![account(MINT, 1, TOKEN_PROGRAM, &mint_data())];
    updates
        .extend((0..2 * HOLDERS_MAX as u64).map(|n| account(number(n), 1, TOKEN_PROGRAM, &data)));
    let foreign = token_data(&MINT, &WALLET, 9, 1);
    updates.push(account([0xCC; 32], 1, TOKEN_2022_PROGRAM, &foreign));
    updates.push(account([0xCD; 32], 1, [9; 32], &foreign));
    temporary.store.apply(&block(1, updates)).unwrap();
    let snapshot = temporary.store.snapshot().unwrap();
    let last = 2 * HOLDERS_MAX as u64 - 1;
    let expected: Vec<_> = (0..20).map(|i| (5, number(last - i))).collect();
    assert_eq!(
        snapshot.holders(TokenProgram::Token, &MINT, 20).unwrap(),
        Some(expected.clone())
    );
    assert_eq!(
        snapshot.holders(TokenProgram::Token, &MINT, 3).unwrap(),
        Some(expected[..3].to_vec())
    );
    assert_eq!(
        snapshot.holders(TokenProgram::Token, &[1; 32], 20).unwrap(),
        Some(Vec::new())
    );
    let of_2022 = snapshot
        .holders(TokenProgram::Token2022, &MINT, 20)
        .unwrap();
    assert_eq!(of_2022, Some(vec![(9, [0xCC; 32])]));
}

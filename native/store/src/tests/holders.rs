//! Tests of the largest accounts of a mint, with balances that enter and leave its row.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{
    TOKEN_2022_PROGRAM, TOKEN_PROGRAM, account, assert_sound, block, mint_data, number, open,
    options, token_data,
};
use crate::testing::naive::Model;
use crate::{AccountUpdate, HOLDERS_MAX};
use primitives::token::TokenProgram;

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

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn the_largest_accounts_are_always_known(
        first in vec((0u64..300, (0u64..1_000).prop_map(Some), 0u8..8), 0..300),
        blocks in vec(vec(change(), 0..120), 1..8),
        closed in 0u64..300,
    ) {
        let temporary = open(&options());
        let mut model = Model::default();
        let mut apply = |slot: u64, updates: Vec<AccountUpdate>| {
            temporary.store.apply(&block(slot, updates.clone())).unwrap();
            model.apply(slot, &updates);
            let snapshot = temporary.store.snapshot().unwrap();
            let largest = snapshot.holders(TokenProgram::Token, &MINT, 20).unwrap();
            assert_eq!(largest, model.holders(TokenProgram::Token, &MINT));
        };
        let mut updates = vec![account(MINT, 1, TOKEN_PROGRAM, &mint_data())];
        updates.extend(first.into_iter().map(to_update));
        apply(1, updates);
        let mut slot = 1;
        for changes in blocks {
            slot += 1;
            apply(slot, changes.into_iter().map(to_update).collect());
        }
        // Closes all large accounts at once, so that the row must be recomputed.
        let close = |n| account(number(n), 0, TOKEN_PROGRAM, &[]);
        apply(slot + 1, (closed..300).map(close).collect());
        assert_sound(&temporary.store);
        apply(slot + 2, (0..closed).map(close).collect());
        assert_sound(&temporary.store);
        let entries = temporary.store.stats().unwrap().entries;
        prop_assert!(entries.contains(&("holders", 0)));
    }
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
        expected
    );
    assert_eq!(
        snapshot.holders(TokenProgram::Token, &MINT, 3).unwrap(),
        expected[..3]
    );
    assert_eq!(
        snapshot.holders(TokenProgram::Token, &[1; 32], 20).unwrap(),
        []
    );
    let of_2022 = snapshot
        .holders(TokenProgram::Token2022, &MINT, 20)
        .unwrap();
    assert_eq!(of_2022, [(9, [0xCC; 32])]);
}

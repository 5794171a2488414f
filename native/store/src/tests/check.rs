//! Tests of the check: each table is damaged in turn, by a missing row and by an extra row.

use super::{
    TOKEN_PROGRAM, account, assert_sound, block, mint_data, number, open, options, token_data,
};
use crate::tables::Db;
use crate::{Block, Store};

fn filled() -> super::Temporary {
    let temporary = open(&options());
    let mint = number(1);
    let mut accounts = vec![account(mint, 1, TOKEN_PROGRAM, &mint_data())];
    accounts.push(account(number(2), 1, [9; 32], b"discriminator"));
    let holders = (10..20).map(|n| {
        account(
            number(n),
            1,
            TOKEN_PROGRAM,
            &token_data(&mint, &number(n % 3), n, 1),
        )
    });
    accounts.extend(holders);
    temporary
        .store
        .apply(&Block {
            transactions: vec![super::fees::paid(1, Some(5), 7)],
            has_details: true,
            ..block(1, accounts)
        })
        .unwrap();
    assert_sound(&temporary.store);
    temporary
}

fn tables(store: &Store) -> [(&'static str, Db); 10] {
    let t = &store.tables;
    [
        ("accounts", t.accounts),
        ("by_program", t.by_program),
        ("by_discriminator", t.by_discriminator),
        ("by_mint", t.by_mint),
        ("by_token_owner", t.by_token_owner),
        ("holders", t.holders),
        ("changed", t.changed),
        ("programs", t.programs),
        ("blocks", t.blocks),
        ("fees", t.fees),
    ]
}

/// Damages one table of a new store and returns the differences that the check reports.
fn damaged(
    table: usize,
    damage: impl Fn(&Db, &mut heed::RwTxn<'_>, Vec<u8>, Vec<u8>),
) -> Vec<String> {
    let temporary = filled();
    let (_, db) = tables(&temporary.store)[table];
    let mut txn = temporary.store.env.write_txn().unwrap();
    let (key, value) = db
        .last(&txn)
        .unwrap()
        .map(|(k, v)| (k.to_vec(), v.to_vec()))
        .unwrap();
    damage(&db, &mut txn, key, value);
    txn.commit().unwrap();
    temporary.store.check().unwrap()
}

#[test]
fn a_missing_row_is_found_in_every_table() {
    for (i, (name, _)) in tables(&filled().store).into_iter().enumerate() {
        let found = damaged(i, |db, txn, key, _| assert!(db.delete(txn, &key).unwrap()));
        assert!(!found.is_empty(), "{name}");
    }
}

#[test]
fn an_extra_row_is_found_in_every_table() {
    for (i, (name, _)) in tables(&filled().store).into_iter().enumerate() {
        let found = damaged(i, |db, txn, mut key, value| {
            if let Some(byte) = key.last_mut() {
                *byte ^= 0x55;
            }
            db.put(txn, &key, &value).unwrap();
        });
        assert!(!found.is_empty(), "{name}");
    }
}

#[test]
fn a_wrong_value_is_found_in_every_table_with_values() {
    for (i, (name, _)) in tables(&filled().store).into_iter().enumerate() {
        let found = damaged(i, |db, txn, key, mut value| {
            // A byte of the owner, the mint, the largest amount, or the number of accounts.
            let at = match name {
                "accounts" => 30,
                "fees" => 9,
                _ => 7,
            };
            if let Some(byte) = value.get_mut(at) {
                *byte ^= 1;
            }
            db.put(txn, &key, &value).unwrap();
        });
        let values = ["accounts", "by_token_owner", "holders", "programs", "fees"];
        let has_values = values.contains(&name);
        assert_eq!(!found.is_empty(), has_values, "{name}");
    }
}

//! Tests of a store that keeps a part of the chain.

use super::{
    TOKEN_2022_PROGRAM, TOKEN_PROGRAM, account, assert_sound, block, mint_data, number, open,
    options, token_data,
};
use crate::{Options, Scope};
use primitives::token::CLOCK_SYSVAR;

const PROGRAM: [u8; 32] = [0x50; 32];
const MINT: [u8; 32] = [0x60; 32];
const LISTED: [u8; 32] = [0x70; 32];
const ELSEWHERE: [u8; 32] = [0x80; 32];

fn scoped() -> Options {
    let scope = Scope::Listed {
        programs: vec![PROGRAM],
        mints: vec![MINT],
        pubkeys: vec![LISTED],
    };
    Options { scope, ..options() }
}

#[test]
fn keeps_listed_accounts_and_the_mints_they_need() {
    let temporary = open(&scoped());
    let other_mint = [0x61; 32];
    let updates = vec![
        account(number(1), 1, PROGRAM, b"owned"),
        account(number(2), 1, ELSEWHERE, b"not owned"),
        account(
            LISTED,
            1,
            TOKEN_PROGRAM,
            &token_data(&other_mint, &[1; 32], 5, 1),
        ),
        account(MINT, 1, TOKEN_2022_PROGRAM, &mint_data()),
        account(
            number(3),
            1,
            TOKEN_2022_PROGRAM,
            &token_data(&MINT, &[1; 32], 5, 1),
        ),
        account(
            number(4),
            1,
            TOKEN_2022_PROGRAM,
            &token_data(&number(9), &[1; 32], 5, 1),
        ),
        account(other_mint, 1, TOKEN_PROGRAM, &mint_data()),
        account(number(5), 1, TOKEN_PROGRAM, &mint_data()),
        account(CLOCK_SYSVAR, 1, ELSEWHERE, &[0; 40]),
    ];
    let applied = temporary.store.apply(&block(1, updates)).unwrap();
    assert_eq!((applied.accounts, applied.out_of_scope), (6, 3));
    let snapshot = temporary.store.snapshot().unwrap();
    for (pubkey, is_kept) in [
        (number(1), true),
        (number(2), false),
        (LISTED, true),
        (MINT, true),
        (number(3), true),
        (number(4), false),
        (other_mint, true),
        (number(5), false),
        (CLOCK_SYSVAR, true),
    ] {
        assert_eq!(
            snapshot.account(&pubkey).unwrap().is_some(),
            is_kept,
            "{pubkey:?}"
        );
        assert_eq!(snapshot.in_scope(&pubkey).unwrap(), is_kept, "{pubkey:?}");
    }
    assert!(
        snapshot.scope().covers_program(&PROGRAM) && !snapshot.scope().covers_program(&ELSEWHERE)
    );
    assert!(snapshot.scope().covers_mint(&MINT) && !snapshot.scope().covers_mint(&other_mint));
    drop(snapshot);
    assert_sound(&temporary.store);
}

#[test]
fn accounts_out_of_scope_are_removed_and_needed_mints_are_updated() {
    let temporary = open(&scoped());
    let other_mint = [0x61; 32];
    let mut mint = mint_data();
    temporary
        .store
        .apply(&block(
            1,
            vec![
                account(number(1), 1, PROGRAM, b"owned"),
                account(
                    LISTED,
                    1,
                    TOKEN_PROGRAM,
                    &token_data(&other_mint, &[1; 32], 5, 1),
                ),
                account(other_mint, 1, TOKEN_PROGRAM, &mint),
            ],
        ))
        .unwrap();
    mint[36] = 77;
    let moved = vec![
        account(number(1), 1, ELSEWHERE, b""),
        account(other_mint, 1, TOKEN_PROGRAM, &mint),
    ];
    let applied = temporary.store.apply(&block(2, moved)).unwrap();
    assert_eq!(
        (applied.accounts, applied.deleted, applied.out_of_scope),
        (1, 1, 0)
    );
    let snapshot = temporary.store.snapshot().unwrap();
    assert!(snapshot.account(&number(1)).unwrap().is_none());
    assert!(!snapshot.in_scope(&number(1)).unwrap());
    // Listed and absent: the account does not exist on the chain.
    assert!(snapshot.in_scope(&MINT).unwrap());
    assert_eq!(snapshot.account(&other_mint).unwrap().unwrap().data[36], 77);
    drop(snapshot);
    assert_sound(&temporary.store);
}

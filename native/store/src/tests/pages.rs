//! Tests of the plan chosen for a query, and of the limits of a page.

use std::time::Instant;

use super::{
    TOKEN_PROGRAM, account, block, long_budget, mint_data, number, open, options, token_data,
};
use crate::{Budget, Filter, Options, PageEnd, ProgramQuery, ScanPlan, Store};
use primitives::token::TokenProgram;
use sys::error::Error;

const LARGE: [u8; 32] = [0x50; 32];
const SMALL: [u8; 32] = [0x51; 32];
const MINT: [u8; 32] = [0x60; 32];
const MINT_2: [u8; 32] = [0x62; 32];
const WALLET: [u8; 32] = [0x61; 32];
const COMMON: u64 = u64::MAX;

fn query(program: [u8; 32], filters: Vec<Filter>) -> ProgramQuery {
    ProgramQuery {
        program,
        filters,
        limit: 10,
        after: None,
        changed_since: None,
    }
}

fn memcmp(offset: u64, bytes: &[u8]) -> Filter {
    Filter::Memcmp {
        offset,
        bytes: bytes.to_vec(),
    }
}

fn plan(store: &Store, query: &ProgramQuery) -> ScanPlan {
    store.snapshot().unwrap().plan(query).unwrap()
}

/// Evenly distributed pubkeys, like real ones.
fn spread(n: u64) -> [u8; 32] {
    let mut pubkey = number(n);
    pubkey[0..8].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    pubkey
}

/// 4,000 accounts of a large program, 3,000 of them with the same first bytes; 200 of a small one;
/// 8,000 token accounts, 6,000 of them of one mint and 1,500 of another, 3 of one wallet.
fn filled(options: &Options) -> super::Temporary {
    let temporary = open(options);
    let large = |n: u64, lamports| {
        let first = if n < 1_000 { n } else { COMMON };
        account(spread(n), lamports, LARGE, &first.to_le_bytes())
    };
    let mut accounts: Vec<_> = (0..4_000).map(|n| large(n, 1)).collect();
    accounts.extend((4_000..4_200).map(|n| account(spread(n), 1, SMALL, &COMMON.to_le_bytes())));
    accounts.extend((5_000..13_000).map(|n| {
        let wallet = if n < 5_003 { WALLET } else { number(n) };
        let mint = [MINT, MINT_2, number(n)][((n - 5_000) / 6_000 + (n - 5_000) / 7_500) as usize];
        account(
            spread(n),
            1,
            TOKEN_PROGRAM,
            &token_data(&mint, &wallet, n, 1),
        )
    }));
    accounts.push(account(MINT, 1, TOKEN_PROGRAM, &mint_data()));
    temporary.store.apply(&block(1, accounts)).unwrap();
    for slot in 2..6 {
        let accounts = (0..30).map(|n| large(n, slot)).collect();
        temporary.store.apply(&block(slot, accounts)).unwrap();
    }
    temporary
}

#[test]
fn each_query_gets_the_cheapest_plan() {
    let temporary = filled(&options());
    let store = &temporary.store;
    let token = TokenProgram::Token;
    assert_eq!(plan(store, &query([1; 32], vec![])), ScanPlan::Nothing);
    assert_eq!(
        plan(
            store,
            &ProgramQuery {
                limit: 0,
                ..query(LARGE, vec![])
            }
        ),
        ScanPlan::Nothing
    );
    assert_eq!(plan(store, &query(LARGE, vec![])), ScanPlan::Walk);
    assert_eq!(plan(store, &query(SMALL, vec![])), ScanPlan::ByProgram);
    assert_eq!(
        plan(store, &query(SMALL, vec![Filter::DataSize(8)])),
        ScanPlan::ByProgram
    );
    let first = 7u64.to_le_bytes();
    let longer = [&first[..], &[1]].concat();
    for bytes in [&first[..], &longer] {
        assert_eq!(
            plan(store, &query(LARGE, vec![memcmp(0, bytes)])),
            ScanPlan::ByDiscriminator(first)
        );
    }
    assert_eq!(
        plan(store, &query(LARGE, vec![memcmp(0, &first[..7])])),
        ScanPlan::Walk
    );
    assert_eq!(
        plan(store, &query(LARGE, vec![memcmp(1, &first)])),
        ScanPlan::Walk
    );
    assert_eq!(
        plan(store, &query(TOKEN_PROGRAM, vec![memcmp(0, &MINT_2)])),
        ScanPlan::ByMint(token, MINT_2)
    );
    assert_eq!(
        plan(store, &query(TOKEN_PROGRAM, vec![memcmp(0, &MINT[..31])])),
        ScanPlan::Walk
    );
    assert_eq!(
        plan(store, &query(TOKEN_PROGRAM, vec![memcmp(32, &WALLET)])),
        ScanPlan::ByTokenOwner(token, WALLET)
    );
    // An index of half of all accounts is slower than walking all accounts.
    assert_eq!(
        plan(store, &query(TOKEN_PROGRAM, vec![memcmp(0, &MINT)])),
        ScanPlan::Walk
    );
    let common = vec![memcmp(0, &COMMON.to_le_bytes())];
    assert_eq!(plan(store, &query(LARGE, common.clone())), ScanPlan::Walk);
    let first = ScanPlan::ByDiscriminator(COMMON.to_le_bytes());
    assert_eq!(plan(store, &query(SMALL, common)), first);
    // Of two indexes the one with fewer rows is used, in any order of the filters.
    let both = vec![memcmp(0, &MINT), memcmp(32, &WALLET)];
    assert_eq!(
        plan(store, &query(TOKEN_PROGRAM, both)),
        ScanPlan::ByTokenOwner(token, WALLET)
    );
    let both = vec![memcmp(32, &WALLET), memcmp(0, &[3; 32])];
    assert_eq!(
        plan(store, &query(TOKEN_PROGRAM, both)),
        ScanPlan::ByMint(token, [3; 32])
    );
}

#[test]
fn recent_changes_are_read_from_the_log_if_it_is_cheaper() {
    let temporary = filled(&options());
    let store = &temporary.store;
    let since = |slot| ProgramQuery {
        changed_since: Some(slot),
        ..query(LARGE, vec![])
    };
    for slot in [1, 3, 5, 9] {
        assert_eq!(plan(store, &since(slot)), ScanPlan::Changed { since: slot });
    }
    // Slot 0 is before the floor: the first block alone had as many writes as are kept.
    assert_eq!(plan(store, &since(0)), ScanPlan::Walk);
    // Three rows of an index are cheaper than thirty of the log, and no rows of the log are cheaper
    // than three of an index.
    let wallet = |slot| ProgramQuery {
        changed_since: Some(slot),
        ..query(TOKEN_PROGRAM, vec![memcmp(32, &WALLET)])
    };
    assert_eq!(
        plan(store, &wallet(0)),
        ScanPlan::ByTokenOwner(TokenProgram::Token, WALLET)
    );
    assert_eq!(plan(store, &wallet(1)), ScanPlan::Changed { since: 1 });
    let off = filled(&Options {
        changed: crate::Changed::None,
        ..options()
    });
    assert_eq!(plan(&off.store, &since(3)), ScanPlan::Walk);
}

#[test]
fn the_deadline_ends_a_page_and_reports_the_rows_read() {
    let temporary = filled(&options());
    let snapshot = temporary.store.snapshot().unwrap();
    for filters in [
        vec![Filter::DataSize(1)],
        vec![memcmp(0, &[0; 8]), Filter::DataSize(1)],
    ] {
        let query = query(LARGE, filters);
        let mut budget = Budget::until(Instant::now());
        match snapshot.program_page(&query, &mut budget, &mut |_, _| Ok(())) {
            Err(Error::ReadBudget { scanned: 256 }) => assert_eq!(query.filters.len(), 1),
            // One row is processed before the first read of the clock.
            Ok(PageEnd {
                count: 0,
                last: None,
            }) => assert_eq!(query.filters.len(), 2),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_error_of_the_visitor_ends_the_page() {
    let temporary = filled(&options());
    let snapshot = temporary.store.snapshot().unwrap();
    let mut visits = 0;
    let end = snapshot.program_page(&query(SMALL, vec![]), &mut long_budget(), &mut |_, _| {
        visits += 1;
        if visits == 3 {
            Err(Error::Overloaded)
        } else {
            Ok(())
        }
    });
    assert!(matches!(end, Err(Error::Overloaded)) && visits == 3);
}

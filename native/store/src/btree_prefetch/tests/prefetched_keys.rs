//! Tests that prefetching leaves the keys of an index unchanged, and that pages prefetch.

use std::cell::Cell;
use std::io;

use proptest::prelude::*;

use super::{SMALL, key, stored, take_found};
use crate::btree_prefetch::walk::KEYS_AT_ONCE;
use crate::testing::{Temporary, account, block, long_budget, open, options, token_data};
use crate::{OwnerFilter, OwnerQuery, ProgramQuery, ScanPlan};
use primitives::Pubkey;
use primitives::token::{TOKEN_PROGRAM, TokenProgram};

const WALLET: Pubkey = [0x77; 32];
const PROGRAM: Pubkey = [0x55; 32];
const ACCOUNTS: u64 = 4_000;
/// One account in this many is a token account of the wallet, and one is owned by the program.
const ONE_IN: u64 = 100;

fn broken() -> heed::Error {
    heed::Error::Io(io::Error::other("a page that cannot be read"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn prefetching_does_not_change_the_keys(
        count in 0usize..70,
        limit in 0usize..50,
        broken_at in prop::option::of(0usize..70),
    ) {
        thread_local! {
            static STORED: Temporary = stored(100, SMALL);
        }
        STORED.with(|temporary| {
            let snapshot = temporary.store.snapshot().unwrap();
            let keys: Vec<Pubkey> = (0..count as u64).map(key).collect();
            let taken = Cell::new(0);
            let source = keys.iter().enumerate().map(|(at, key)| {
                taken.set(at + 1);
                if broken_at == Some(at) { Err(broken()) } else { Ok(key) }
            });
            let mut given = Vec::new();
            let mut is_failed = false;
            for key in snapshot.prefetched_keys(source, limit) {
                let Ok(key) = key else {
                    is_failed = true;
                    break;
                };
                given.push(*key);
                // A page that is already full has read no keys beyond its limit.
                assert!(given.len() > limit || taken.get() <= limit);
                assert!(taken.get() < given.len() + KEYS_AT_ONCE);
            }
            let end = broken_at.unwrap_or(count).min(count);
            assert_eq!(given, &keys[..end]);
            assert_eq!(is_failed, end < count);
        });
    }
}

/// Accounts of three kinds, each far from others of its kind.
fn mixed() -> Temporary {
    let temporary = open(&options());
    let one = |n: u64| match n % ONE_IN {
        1 => account(
            key(n),
            1,
            TOKEN_PROGRAM,
            &token_data(&key(n), &WALLET, n, 1),
        ),
        2 => account(key(n), 1, PROGRAM, &[2; 100]),
        _ => account(key(n), 1, [9; 32], &[0; 165]),
    };
    for (slot, first) in (1..).zip((0..ACCOUNTS).step_by(1_000)) {
        let accounts = (first..first + 1_000).map(one).collect();
        temporary.store.apply(&block(slot, accounts)).unwrap();
    }
    temporary
}

#[test]
fn pages_prefetch_the_records_of_an_index() {
    let temporary = mixed();
    let snapshot = temporary.store.snapshot().unwrap();
    let of_kind = (ACCOUNTS / ONE_IN) as usize;
    let wallet = OwnerQuery {
        wallet: WALLET,
        filter: OwnerFilter::Program(TokenProgram::Token),
        limit: 1_000,
        after: None,
    };
    take_found();
    let end = snapshot
        .owner_page(&wallet, &mut long_budget(), &mut |_, _| Ok(()))
        .unwrap();
    assert_eq!(end.count, of_kind);
    assert_eq!(take_found(), of_kind);
    for (changed_since, plan) in [
        (None, ScanPlan::ByProgram),
        (Some(3), ScanPlan::Changed { since: 3 }),
    ] {
        let query = ProgramQuery {
            program: PROGRAM,
            filters: Vec::new(),
            limit: 1_000,
            after: None,
            changed_since,
        };
        assert_eq!(snapshot.plan(&query).unwrap(), plan);
        let mut budget = long_budget();
        let end = snapshot
            .program_page(&query, &mut budget, &mut |_, _| Ok(()))
            .unwrap();
        assert_eq!(
            end.count,
            if changed_since.is_some() {
                of_kind / 4
            } else {
                of_kind
            }
        );
        assert_eq!(take_found(), end.count);
    }
}

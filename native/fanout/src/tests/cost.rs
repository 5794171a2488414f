//! A pass costs the sum of changes and matches, not the product of changes and subscriptions.

use std::sync::Arc;

use super::*;
use crate::LogsOf;
use store::Filter;
use store::testing::{account, number};

const SUBSCRIPTIONS: u32 = 10_000;
const CHANGES: u64 = 1_000;

fn memcmp(offset: u64, bytes: &[u8]) -> Filter {
    let bytes = bytes.to_vec();
    Filter::Memcmp { offset, bytes }
}

/// Comparisons and frames of one slot of changes in one program, for these filters.
fn cost(filters: impl Fn(u32) -> Vec<Filter>) -> (u64, u64) {
    let bench = Bench::new();
    bench.apply_accounts(1, vec![]);
    for id in 1..=SUBSCRIPTIONS {
        let filters = Arc::from(filters(id));
        let program = [9; 32];
        bench.add(
            id,
            Interest::Program {
                program,
                filters,
                view: BASE64,
            },
        );
    }
    bench.frames();
    let changes = (1..=CHANGES).map(|n| {
        let data = [&[1; 32][..], &number(n), &[0; 101]].concat();
        account(number(n), 1, [9; 32], &data)
    });
    bench.apply_accounts(2, changes.collect());
    let frames = bench.frames().len() as u64;
    let stats = bench.fanout.stats();
    assert_eq!((stats.changes, stats.frames), (CHANGES, frames));
    (stats.comparisons, frames)
}

#[test]
fn cost_of_distinct_filters_on_one_program() {
    let distinct = |id: u32| memcmp(32, &number(u64::from(id) * 2));
    // A filter shared by all subscriptions, in any position, does not hide the others.
    let cases: [Box<dyn Fn(u32) -> Vec<Filter>>; 4] = [
        Box::new(|id| vec![distinct(id)]),
        Box::new(|id| vec![memcmp(0, &[1; 32]), distinct(id)]),
        Box::new(|id| vec![distinct(id), Filter::DataSize(165), memcmp(0, &[1; 32])]),
        Box::new(|id| vec![Filter::DataSize(165), distinct(id)]),
    ];
    for (case, filters) in cases.iter().enumerate() {
        let (comparisons, frames) = cost(filters);
        assert_eq!(frames, CHANGES / 2, "case {case}");
        let filters_each = filters(1).len() as u64;
        // Nine subscriptions lie under the shared key before another shape is used.
        let most = CHANGES * (3 + 9 * filters_each) + frames * filters_each;
        assert!(comparisons <= most, "case {case}: {comparisons}");
    }
}

#[test]
fn cost_of_subscriptions_without_changes() {
    let bench = Bench::new();
    bench.apply_accounts(1, vec![]);
    for id in 1..=SUBSCRIPTIONS {
        let key = number(u64::from(id) + 1_000_000);
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&key);
        bench.add(
            id,
            match id % 3 {
                0 => Interest::Account {
                    pubkey: key,
                    view: BASE64,
                },
                1 => Interest::Logs(LogsOf::Mentions(key)),
                _ => Interest::Signature {
                    signature,
                    is_finalized: false,
                    wants_received: false,
                },
            },
        );
    }
    bench.frames();
    let accounts = (0..CHANGES).map(|n| account(number(n), 1, [9; 32], b""));
    let keys = [number(1), number(2)];
    let transactions = (0..100).map(|n| transaction(n, None, Some((&keys, &[]))));
    bench.apply(&Block {
        transactions: transactions.collect(),
        ..block(2, accounts.collect())
    });
    assert!(bench.frames().is_empty());
    let comparisons = bench.fanout.stats().comparisons;
    assert_eq!(comparisons, CHANGES + 100 * 3);
}

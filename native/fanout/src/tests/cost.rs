//! A pass costs the sum of changes and matches, not the product of changes and subscriptions.

use std::sync::Arc;

use super::*;
use crate::{LogsOf, TransactionFilter};
use store::Filter;
use store::testing::{account, number};
use wire::transaction_json::{self, Details, Shape, TransactionView};

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

/// Comparisons of one slot of 1,000 transactions with two accounts each, for these filters.
fn cost_of_transactions(filter: impl Fn(u32) -> TransactionFilter) -> (u64, usize) {
    let bench = Bench::new();
    bench.apply_accounts(1, vec![]);
    for id in 1..=SUBSCRIPTIONS / 10 {
        let interest = Interest::Transactions {
            filter: Arc::new(filter(id)),
            view: TransactionView {
                details: Details::None,
                encoding: transaction_json::Encoding::Base64,
                shows_rewards: false,
                version_max: None,
                shape: Shape::Named,
            },
        };
        bench.add(id, interest);
    }
    bench.frames();
    let transactions = (0..CHANGES).map(|n| {
        let mut update = transaction(0, None, Some((&[POPULAR, number(n)], &[])));
        update.signature[..8].copy_from_slice(&n.to_be_bytes());
        update
    });
    bench.apply(&with_transactions(2, transactions.collect()));
    let frames = bench.frames().len();
    (bench.fanout.stats().comparisons, frames)
}

/// An account that every transaction names.
const POPULAR: [u8; 32] = [255; 32];

/// What is subscribed to, and the nth filter.
type Case<'a> = (&'a str, Box<dyn Fn(u32) -> TransactionFilter + 'a>);

#[test]
fn accounts_that_no_transaction_names_cost_nothing() {
    let rare = |id: u32, list: u64, count: u64| -> Box<[[u8; 32]]> {
        let first = (u64::from(id) * 4 + list) << 20;
        (first..first + count).map(number).collect()
    };
    let look_ups = CHANGES * 3;
    // 100 accounts in each list; 10,000 are in the test of the service.
    let cases: [Case<'_>; 2] = [
        (
            "included and excluded",
            Box::new(|id| TransactionFilter {
                include: rare(id, 1, 100),
                exclude: rare(id, 2, 100),
                ..TransactionFilter::default()
            }),
        ),
        (
            "required, beside one that all have",
            Box::new(|id| TransactionFilter {
                required: [&[number(u64::from(id) << 30)][..], &[POPULAR]]
                    .concat()
                    .into(),
                ..TransactionFilter::default()
            }),
        ),
    ];
    for (name, filter) in cases {
        let (comparisons, frames) = cost_of_transactions(filter);
        assert_eq!(frames, 0, "{name}");
        // The first of the required accounts may be the popular one: nothing tells them apart yet.
        let most = look_ups + CHANGES * 4;
        assert!(comparisons <= most, "{name}: {comparisons}");
    }
    let (comparisons, frames) = cost_of_transactions(|_| TransactionFilter {
        exclude: Box::new([POPULAR]),
        ..TransactionFilter::default()
    });
    assert_eq!(frames, 0);
    let each = CHANGES * u64::from(SUBSCRIPTIONS / 10);
    assert!(
        comparisons <= look_ups + each,
        "one step for each that is excluded: {comparisons}"
    );
}

//! Times each method as an edge calls it: one snapshot per request, the reply serialized.

use std::path::Path;
use std::time::{Duration, Instant};

use primitives::Pubkey;
use primitives::token::{TOKEN_PROGRAM, TokenProgram};
use store::{Budget, Filter, Options, OwnerFilter, OwnerQuery, ProgramQuery, Snapshot, Store};
use sys::error::Result;
use wire::account_json::{Encoding, View};
use wire::reads::{self, Commitment, PageView, ReadLimits};

use crate::data::{KINDS, PROGRAM, Set, key};
use crate::seeded::mix;
use crate::{machine, report};

const NONE: &ReadLimits = &ReadLimits::NONE;
const VIEW: View = View {
    encoding: Encoding::Base64,
    slice: None,
};
const PAGE: PageView = PageView {
    view: VIEW,
    reply_bytes_max: usize::MAX,
};
/// Requests per method with a cold file, which wait for the disk.
const COLD: u64 = 400;
const WARM: u64 = 20_000;

type Read = Box<dyn Fn(&Snapshot<'_>, u64, &mut Vec<u8>) -> Result<()>>;

fn budget() -> Budget {
    Budget::until(Instant::now() + Duration::from_secs(60))
}

/// Methods whose cost should not depend on the size of the store. The number selects the request.
fn methods(set: &Set) -> Vec<(&'static str, Read)> {
    let (tokens, mints, wallets) = (set.tokens, set.mints, set.wallets);
    let token = move |n: u64| key(3, mix(n) % tokens);
    let by_owner = move |snapshot: &Snapshot<'_>, wallet: u64, out: &mut Vec<u8>| {
        let filter = OwnerFilter::Program(TokenProgram::Token);
        let query = OwnerQuery {
            wallet: key(2, wallet),
            filter,
            limit: 1_000,
            after: None,
        };
        reads::token_accounts_by_owner(snapshot, &query, &PAGE, &mut budget(), out)
    };
    vec![
        (
            "getLatestBlockhash",
            Box::new(|s, _, out| reads::latest_blockhash(s, Commitment::Finalized, out)),
        ),
        (
            "getBalance",
            Box::new(move |s, n, out| reads::balance(s, &token(n), Commitment::Finalized, out)),
        ),
        (
            "getAccountInfo",
            Box::new(move |s, n, out| reads::account_info(s, &token(n), VIEW, NONE, out).map(drop)),
        ),
        (
            "getMultipleAccounts of 10",
            Box::new(move |s, n, out| {
                let keys: Vec<Pubkey> = (0..10).map(|i| token(n * 10 + i)).collect();
                reads::multiple_accounts(s, &keys, VIEW, NONE, out).map(drop)
            }),
        ),
        (
            "getTokenAccountBalance",
            Box::new(move |s, n, out| {
                reads::token_account_balance(s, &token(n), None, NONE, out).map(drop)
            }),
        ),
        (
            "getTokenSupply",
            Box::new(move |s, n, out| {
                reads::token_supply(s, &key(1, mix(n) % mints), None, NONE, out).map(drop)
            }),
        ),
        (
            "getTokenLargestAccounts",
            Box::new(move |s, n, out| {
                reads::token_largest_accounts(s, &key(1, mix(n) % mints), NONE, out).map(drop)
            }),
        ),
        (
            "getTokenLargestAccounts, the mint with most holders",
            Box::new(|s, _, out| reads::token_largest_accounts(s, &key(1, 0), NONE, out).map(drop)),
        ),
        (
            "getTokenAccountsByOwnerV2, 8 accounts",
            Box::new(move |s, n, out| by_owner(s, 1 + mix(n) % (wallets - 1), out)),
        ),
        (
            "getProgramAccountsV2, a page of 100 rows",
            Box::new(move |s, n, out| {
                let query = ProgramQuery {
                    program: TOKEN_PROGRAM,
                    filters: Vec::new(),
                    limit: 100,
                    after: Some(token(n)),
                    changed_since: None,
                };
                reads::program_accounts(s, &query, &PAGE, &mut budget(), out)
            }),
        ),
    ]
}

/// Times of `count` requests, fastest first.
fn times(store: &Store, read: &Read, first: u64, count: u64) -> Vec<Duration> {
    let mut out = Vec::with_capacity(1 << 16);
    let mut times: Vec<Duration> = (first..first + count)
        .map(|n| {
            out.clear();
            let begun = Instant::now();
            let snapshot = store.snapshot().expect("a snapshot");
            read(&snapshot, n, &mut out).expect("an answer");
            drop(snapshot);
            let took = begun.elapsed();
            assert!(!out.is_empty());
            took
        })
        .collect();
    times.sort_unstable();
    times
}

fn micros(times: &[Duration], share: f64) -> f64 {
    let at = ((times.len() - 1) as f64 * share) as usize;
    times[at].as_secs_f64() * 1e6
}

/// Evicts the file from memory before each method, so that a request finds only pages that earlier
/// requests of the same method loaded.
pub fn cold(store_dir: &Path, options: &Options, set: &Set) {
    for (at, (name, read)) in (0u64..).zip(methods(set)) {
        machine::forget_pages(store_dir);
        let store = Store::open_reader(store_dir, options).expect("the loaded store");
        let before = machine::usage();
        let times = times(&store, &read, at << 32, COLD);
        let faults = machine::usage().major_faults - before.major_faults;
        report(
            &format!("{name}, cold: p50"),
            micros(&times, 0.5),
            "µs",
            "lower",
            None,
        );
        report(
            &format!("{name}, cold: p99"),
            micros(&times, 0.99),
            "µs",
            "lower",
            None,
        );
        let faults = faults as f64 / COLD as f64;
        report(
            &format!("{name}, cold: reads of the disk"),
            faults,
            "/request",
            "lower",
            None,
        );
    }
}

/// The whole file is in memory and the tables were walked, so no request waits for the disk.
pub fn warm(store: &Store, set: &Set) {
    for (at, (name, read)) in (100u64..).zip(methods(set)) {
        times(store, &read, at << 32, WARM);
        let times = times(store, &read, (at << 32) + WARM, WARM);
        report(
            &format!("{name}, warm: p50"),
            micros(&times, 0.5),
            "µs",
            "lower",
            None,
        );
        report(
            &format!("{name}, warm: p99"),
            micros(&times, 0.99),
            "µs",
            "lower",
            None,
        );
    }
}

fn memcmp(offset: u64, bytes: &[u8]) -> Filter {
    Filter::Memcmp {
        offset,
        bytes: bytes.to_vec(),
    }
}

/// Best time of five, rows on the page, rows scanned.
fn best_of_five(
    store: &Store,
    run: impl Fn(&Snapshot<'_>, &mut Budget, &mut Vec<u8>) -> Result<()>,
) -> (f64, u64) {
    let (mut best, mut scanned) = (f64::MAX, 0);
    let mut out = Vec::new();
    for _ in 0..5 {
        out.clear();
        let (begun, mut budget) = (Instant::now(), budget());
        let snapshot = store.snapshot().expect("a snapshot");
        run(&snapshot, &mut budget, &mut out).expect("a page");
        best = best.min(begun.elapsed().as_secs_f64() * 1e3);
        scanned = budget.scanned();
    }
    (best, scanned)
}

pub fn pages(store: &Store, store_dir: &Path, set: &Set) {
    machine::recall_pages(store_dir);
    let query = |program, filters, limit| ProgramQuery {
        program,
        filters,
        limit,
        after: None,
        changed_since: None,
    };
    let limit = 10_000.min(set.of_program as usize / KINDS as usize);
    let cases = [
        (
            "page of token accounts",
            query(TOKEN_PROGRAM, vec![], limit),
        ),
        ("page of the program", query(PROGRAM, vec![], limit)),
        (
            "page of the largest mint",
            query(TOKEN_PROGRAM, vec![memcmp(0, &key(1, 0))], limit),
        ),
        (
            "page of a kind",
            query(PROGRAM, vec![memcmp(0, &1u64.to_le_bytes())], limit),
        ),
    ];
    for (name, query) in cases {
        let (best, scanned) = best_of_five(store, |snapshot, budget, out| {
            reads::program_accounts(snapshot, &query, &PAGE, budget, out)
        });
        assert!(scanned >= limit as u64, "{name}: {scanned}");
        let per_row = best * 1e3 / limit as f64;
        report(&format!("{name} ({limit} rows)"), best, "ms", "lower", None);
        report(&format!("{name}: a row"), per_row, "µs", "lower", None);
    }
    let wallet = OwnerQuery {
        wallet: key(2, 0),
        filter: OwnerFilter::Program(TokenProgram::Token),
        limit,
        after: None,
    };
    let owned = (set.tokens / 40).min(limit as u64) as f64;
    let (best, _) = best_of_five(store, |snapshot, budget, out| {
        reads::token_accounts_by_owner(snapshot, &wallet, &PAGE, budget, out)
    });
    report(
        "page of the largest wallet: a row",
        best * 1e3 / owned,
        "µs",
        "lower",
        None,
    );
    for (name, program, filter) in [
        (
            "scan of token accounts, all refused",
            TOKEN_PROGRAM,
            Filter::DataSize(1),
        ),
        (
            "scan of the program, all refused",
            PROGRAM,
            memcmp(100, &[7]),
        ),
    ] {
        let query = query(program, vec![filter], limit);
        let (best, scanned) = best_of_five(store, |snapshot, budget, out| {
            reads::program_accounts(snapshot, &query, &PAGE, budget, out)
        });
        let micros = best * 1e3 / scanned as f64;
        report(&format!("{name}: an account"), micros, "µs", "lower", None);
        report(&format!("{name}: all"), best, "ms", "lower", None);
    }
}

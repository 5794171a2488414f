//! Measures reads without transport. Each answer is checked before it is timed.
//!
//! `cargo run --release -p wire --example read_bench -- [accounts] [mints]`
//!
//! Estimate: a point read begins a read transaction, reads the tip, looks up one key in a B-tree of
//! three to four levels and writes about 420 bytes: two base58 texts (one in, one out) and 220
//! characters of base64. A page of 10,000 does the same 10,000 times and also walks an index.

#![allow(clippy::too_many_lines, reason = "a list of measurements")]

mod data;

use std::hint::black_box;
use std::time::{Duration, Instant};

use data::{fill, key, scatter};
use primitives::Pubkey;
use primitives::encoding::encode_pubkey;
use primitives::token::TOKEN_PROGRAM;
use serde_json::Value;
use store::{Budget, Options, ProgramQuery, Snapshot, Store};
use wire::account_json::{AccountWriter, Encoding, Mints, View};
use wire::fast_lane::{self, Recent};
use wire::reads::{self, PageView, ReadLimits};

const PAGE_ACCOUNTS: usize = 10_000;

/// Runs for about a second and prints the best tenth and the median of the rounds. On a shared
/// machine the best tenth measures the code, and the median includes other load.
fn time(name: &str, unit: &str, per: f64, mut run: impl FnMut(u64)) {
    let mut rounds = Vec::new();
    let mut index = 0;
    let (mut batch, begin) = (1u64, Instant::now());
    while begin.elapsed() < Duration::from_millis(1200) {
        let start = Instant::now();
        for _ in 0..batch {
            run(index);
            index += 1;
        }
        let took = start.elapsed();
        rounds.push(took.as_secs_f64() / batch as f64);
        if took < Duration::from_millis(2) {
            batch *= 2;
            rounds.clear();
        }
    }
    rounds.sort_by(f64::total_cmp);
    let at = |part: usize| rounds[rounds.len() / part] * per;
    println!("{name:<76} {:>8.2} {:>8.2} {unit}", at(10), at(2));
}

const MICROS: f64 = 1e6;
const MILLIS: f64 = 1e3;

fn page(snapshot: &Snapshot<'_>, encoding: Encoding, after: Option<Pubkey>, out: &mut Vec<u8>) {
    let query = ProgramQuery {
        program: TOKEN_PROGRAM,
        filters: Vec::new(),
        limit: PAGE_ACCOUNTS,
        after,
        changed_since: None,
    };
    let page = PageView {
        view: View {
            encoding,
            slice: None,
        },
        reply_bytes_max: 64 << 20,
    };
    let mut budget = Budget::until(Instant::now() + Duration::from_secs(10));
    out.clear();
    reads::program_accounts(snapshot, &query, &page, &mut budget, out).expect("a page");
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("a number"));
    let accounts: u64 = arguments.next().unwrap_or(1_000_000);
    let mints: u64 = arguments.next().unwrap_or(1_000);
    let dir = tempfile::tempdir().expect("a folder");
    let options = Options {
        map_bytes: 16 << 30,
        disk_reserve_bytes: 0,
        ..Options::default()
    };
    let store = Store::open_writer(dir.path(), &options).expect("a store");
    fill(&store, accounts, mints);
    println!(
        "{accounts} token accounts of {mints} mints, 165 bytes each, keys scattered by splitmix64"
    );

    println!("{:<76} {:>8} {:>8}", "", "p10", "p50");
    let view = |encoding| View {
        encoding,
        slice: None,
    };
    let mut out = Vec::with_capacity(64 << 20);
    let any = |index: u64| key(1, scatter(index) % accounts);

    {
        let snapshot = store.snapshot().expect("a snapshot");
        let known = any(0);
        let account = snapshot
            .account(&known)
            .expect("a read")
            .expect("an account");
        for encoding in Encoding::ALL {
            if encoding == Encoding::Base58 {
                continue;
            }
            let mut writer = AccountWriter::new(view(encoding), Mints::by_address(&snapshot));
            time(
                &format!("one account to JSON, {}", encoding.name()),
                "µs",
                MICROS,
                |_| {
                    out.clear();
                    writer.write(&mut out, black_box(&account)).expect("JSON");
                },
            );
        }
        time("look-up of a random account", "µs", MICROS, |index| {
            black_box(snapshot.account(&any(index)).expect("a read"));
        });
        let limits = ReadLimits::default();
        let keys = (0..100).map(any).collect::<Vec<_>>();
        time("getMultipleAccounts of 100", "µs", MICROS, |_| {
            out.clear();
            let _ = black_box(reads::multiple_accounts(
                &snapshot,
                &keys,
                view(Encoding::Base64),
                &limits,
                &mut out,
            ));
        });
        page(&snapshot, Encoding::Base64, None, &mut out);
        let reply: Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(
            reply["count"],
            PAGE_ACCOUNTS.min(accounts as usize),
            "a full page"
        );
        for encoding in [Encoding::Base64, Encoding::Base64Zstd, Encoding::JsonParsed] {
            let name = format!("page of {PAGE_ACCOUNTS}, {}", encoding.name());
            time(&name, "ms", MILLIS, |index| {
                let mut after = [0; 32];
                after[..8].copy_from_slice(&(scatter(index) >> 1).to_be_bytes());
                page(&snapshot, encoding, Some(after), &mut out);
            });
        }
    }

    time(
        "begin and end a read transaction, tip included",
        "µs",
        MICROS,
        |_| {
            black_box(store.snapshot().expect("a snapshot").slot());
        },
    );
    let body = |method: &str, key: &Pubkey, rest: &str| {
        let key = encode_pubkey(key);
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":["{key}"{rest}]}}"#)
    };
    let lanes = [
        (
            "getAccountInfo",
            r#",{"encoding":"base64","commitment":"confirmed"}"#,
        ),
        ("getAccountInfo", r#",{"encoding":"jsonParsed"}"#),
        ("getTokenAccountBalance", ""),
    ];
    // Only reads are timed, so no results are cached.
    let mut recent = Recent::new(0);
    for (method, rest) in lanes {
        let bodies = (0..4096)
            .map(|index| body(method, &any(index), rest))
            .collect::<Vec<_>>();
        for body in &bodies {
            out.clear();
            assert!(
                fast_lane::answer(body.as_bytes(), &store, &mut recent, &mut out),
                "{body}"
            );
            assert!(
                serde_json::from_slice::<Value>(&out).expect("JSON")["result"]["value"].is_object()
            );
        }
        for (name, mask) in [("hot", 0), ("of 4096", 4095)] {
            time(
                &format!("fast lane, {method}{rest} {name}"),
                "µs",
                MICROS,
                |index| {
                    out.clear();
                    let body = &bodies[index as usize & mask];
                    black_box(fast_lane::answer(
                        body.as_bytes(),
                        &store,
                        &mut recent,
                        &mut out,
                    ));
                },
            );
        }
    }
    let bodies =
        (0..mints.min(512)).map(|index| body("getTokenLargestAccounts", &key(2, index), ""));
    let bodies = bodies.collect::<Vec<_>>();
    time(
        "fast lane, getTokenLargestAccounts",
        "µs",
        MICROS,
        |index| {
            out.clear();
            assert!(fast_lane::answer(
                bodies[index as usize % bodies.len()].as_bytes(),
                &store,
                &mut recent,
                &mut out
            ));
        },
    );
}

//! Point reads without transport and clock, for a program that counts instructions and misses of
//! caches: what two runs with different counts of reads differ by is the cost of the reads.
//!
//! `count_reads fill <folder> <accounts>`, then `valgrind --tool=cachegrind --cache-sim=yes` with
//! `count_reads read <folder> <accounts> <distinct> <reads>`, or
//! `count_reads list <folder> <accounts> <distinct> <reads> <addresses>`

mod data;

use std::path::Path;

use data::{fill, key, scatter};
use primitives::encoding::encode_pubkey;
use store::{Options, Store};
use wire::fast_lane::{self, Recent};

const MINTS: u64 = 1_000;

fn options() -> Options {
    Options {
        map_bytes: 4 << 30,
        disk_reserve_bytes: 0,
        ..Options::default()
    }
}

fn address(accounts: u64, index: u64) -> String {
    encode_pubkey(&key(1, scatter(index) % accounts))
}

fn body(method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[{params},{{"encoding":"base64"}}]}}"#
    )
}

/// Canonical calls of `getAccountInfo`, of different accounts.
fn single(accounts: u64, distinct: u64) -> Vec<String> {
    let of = |index| {
        body(
            "getAccountInfo",
            &format!("\"{}\"", address(accounts, index)),
        )
    };
    (0..distinct).map(of).collect()
}

/// Canonical calls of `getMultipleAccounts`, of different accounts.
fn lists(accounts: u64, distinct: u64, length: u64) -> Vec<String> {
    let of = |nth| {
        let addresses = (nth * length..(nth + 1) * length).map(|index| address(accounts, index));
        body(
            "getMultipleAccounts",
            &format!("{:?}", addresses.collect::<Vec<_>>()),
        )
    };
    (0..distinct).map(of).collect()
}

fn read(dir: &Path, bodies: &[String], reads: usize) {
    let store = Store::open_reader(dir, &options()).expect("a filled store");
    // Each read reads: no result is cached.
    let mut recent = Recent::new(0);
    let mut out = Vec::with_capacity(1 << 16);
    for body in bodies.iter().cycle().take(reads) {
        out.clear();
        let is_answered = fast_lane::answer(body.as_bytes(), &store, &mut recent, &mut out);
        assert!(is_answered, "{body}");
    }
}

fn main() {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let number = |index: usize| arguments[index].parse().expect("a number");
    let dir = Path::new(&arguments[1]);
    match arguments[0].as_str() {
        "fill" => {
            let store = Store::open_writer(dir, &options()).expect("an empty folder");
            fill(&store, number(2), MINTS);
        }
        "read" => read(dir, &single(number(2), number(3)), number(4) as usize),
        "list" => {
            let bodies = lists(number(2), number(3), number(5));
            read(dir, &bodies, number(4) as usize);
        }
        other => panic!("{other}: unknown"),
    }
}

//! Point reads without transport and clock, for a program that counts instructions and misses of
//! caches: what two runs with different counts of reads differ by is the cost of the reads.
//!
//! `count_reads fill <folder> <accounts>`, then `valgrind --tool=cachegrind --cache-sim=yes` with
//! `count_reads read <folder> <accounts> <distinct> <reads>`

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

/// Canonical calls of `getAccountInfo`, of different accounts.
fn bodies(accounts: u64, distinct: u64) -> Vec<String> {
    let body = |index| {
        let key = encode_pubkey(&key(1, scatter(index) % accounts));
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["{key}",{{"encoding":"base64"}}]}}"#
        )
    };
    (0..distinct).map(body).collect()
}

fn read(dir: &Path, accounts: u64, distinct: u64, reads: usize) {
    let store = Store::open_reader(dir, &options()).expect("a filled store");
    let bodies = bodies(accounts, distinct);
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
        "read" => read(dir, number(2), number(3), number(4) as usize),
        other => panic!("{other}: unknown"),
    }
}

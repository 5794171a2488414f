//! Measures how fast a store is loaded from unsorted versions of accounts, and its size. Checks the
//! store before it prints a number. `cargo run --release -p ingest --example load_bench -- [token
//! accounts] [folder] [sort memory in MiB]`.
//!
//! Expected I/O per token account: 276 bytes written and read once as a version, and 243 as rows of
//! three indexes. Then 265 bytes of a page of `accounts` and 258 of three indexes, each page
//! written once.

#![allow(clippy::too_many_lines, reason = "a list of measurements")]

use fixtures::seeded;

use std::path::Path;
use std::time::Instant;

use ingest::load::{Base, LoadOptions, Loader};
use ingest::progress::Progress;
use primitives::Pubkey;
use primitives::token::TOKEN_PROGRAM;
use seeded::mix;
use store::{AccountRef, Options, Scope, Store};

const SEED: u64 = 0x5107;
const MINTS: u64 = 50_000;
const WALLETS: u64 = 1_000_000;
/// One in this many versions is older than another version of its account.
const OLD_EVERY: u64 = 50;

fn key(kind: u64, i: u64) -> Pubkey {
    seeded::key(SEED, kind, i)
}

fn main() {
    let mut args = std::env::args().skip(1);
    let count: u64 = args.next().map_or(1_000_000, |text| text.parse().unwrap());
    let dir = args.next().unwrap_or_else(|| "load_bench".to_string());
    let memory_mib: usize = args.next().map_or(256, |text| text.parse().unwrap());
    let dir = Path::new(&dir);
    let _ = std::fs::remove_dir_all(dir);
    let load = LoadOptions {
        sort_memory_bytes: memory_mib << 20,
        ..LoadOptions::default()
    };
    let mints: Vec<Pubkey> = (0..MINTS).map(|i| key(1, i)).collect();
    let mut data = [0; 165];
    data[108] = 1;
    let begun = Instant::now();
    let mut loader = Loader::create(&dir.join("work"), &Scope::All, &load).unwrap();
    for i in 0..count + count / OLD_EVERY {
        let (id, slot) = if i < count {
            (i, 100 + i % 90)
        } else {
            (i * OLD_EVERY % count, 9)
        };
        data[0..32].copy_from_slice(&mints[(mix(id) % MINTS) as usize]);
        data[32..64].copy_from_slice(&key(2, mix(id ^ 0xA5) % WALLETS));
        data[64..72].copy_from_slice(&(mix(id) >> 20).to_le_bytes());
        let account = AccountRef {
            slot,
            lamports: 2_039_280,
            rent_epoch: u64::MAX,
            executable: false,
            owner: &TOKEN_PROGRAM,
            data: &data,
        };
        loader.push(0, &key(3, id), &account).unwrap();
    }
    let pushed = begun.elapsed();
    let options = Options::default();
    let base = Base {
        slot: 200,
        parent_slot: 199,
        blockhash: [1; 32],
        block_height: 150,
        block_time: None,
        root: 200,
    };
    let store_dir = dir.join("store");
    let loaded = loader
        .finish(&store_dir, &options, &base, &Progress::default())
        .unwrap();
    let whole = begun.elapsed();
    assert_eq!(
        (loaded.accounts, loaded.superseded),
        (count, count / OLD_EVERY)
    );
    let store = Store::open_writer(&store_dir, &options).unwrap();
    if count <= 2_000_000 {
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
    }
    // Account and head, then the keys of three indexes. The mint is the value of one.
    let raw_bytes = count * (32 + 57 + 165 + 64 + 65 + 65);
    println!(
        "{count} token accounts: pushed in {:.2} s, loaded in {:.2} s, {:.0} accounts/s; {:.0} bytes \
         each in the file, {:.2} of the raw bytes",
        pushed.as_secs_f64(),
        whole.as_secs_f64(),
        count as f64 / whole.as_secs_f64(),
        loaded.file_bytes as f64 / count as f64,
        loaded.file_bytes as f64 / raw_bytes as f64,
    );
}

//! Measures the memory of reading an archive and of loading a store, in child processes. The memory
//! must not grow with the number of accounts.

mod measuring;
#[path = "../src/archive/tests/writer.rs"]
#[allow(dead_code)]
mod writer;

use std::io::{self, Read};

use ingest::archive::{ArchiveLimits, read_archive};
use ingest::load::{Base, LoadOptions, Loader, SORT_MEMORY_BYTES_MIN};
use ingest::progress::Progress;
use measuring::{anonymous_bytes, peak_of, report};
use primitives::token::TOKEN_PROGRAM;
use store::{AccountRef, Options, Scope, Store};
use writer::{Bank, Row, Tar, hash_of};

const TASK: &str = "SLOTLINE_TEST_TASK";
const COUNT: &str = "SLOTLINE_TEST_COUNT";
const MIB: u64 = 1 << 20;
/// The maximum account size on the chain, in bytes. Each storage contains one such account.
const LARGEST: usize = 10 << 20;
/// Number of small accounts per storage.
const STORAGE_ACCOUNTS: u64 = 4_000;
const SMALL: usize = 1_000;

/// An archive generated while it is read. At most one storage is in memory.
struct Made {
    storages: u64,
    next: u64,
    is_packed: bool,
    chunk: io::Cursor<Vec<u8>>,
}

impl Made {
    fn new(storages: u64, is_packed: bool) -> Made {
        Made {
            storages,
            next: 0,
            is_packed,
            chunk: io::Cursor::default(),
        }
    }

    /// Generates the next frame: the header, a storage or the end mark.
    fn make(&mut self) -> Option<Vec<u8>> {
        let mut tar = Tar::new(Vec::new());
        let tar = match self.next {
            0 => {
                tar.begin(&Bank::at(1_000_000)).unwrap();
                tar.into_inner()
            }
            n if n <= self.storages => {
                let row = |index: u64, bytes: usize| Row {
                    pubkey: hash_of(n << 32 | index),
                    lamports: 1 + index,
                    rent_epoch: u64::MAX,
                    owner: [n as u8; 32],
                    executable: false,
                    data: vec![index as u8; bytes],
                };
                let mut rows: Vec<Row> = (0..STORAGE_ACCOUNTS).map(|i| row(i, SMALL)).collect();
                rows.push(row(STORAGE_ACCOUNTS, LARGEST));
                tar.storage(n, n, &rows).unwrap();
                tar.into_inner()
            }
            n if n == self.storages + 1 => tar.finish().unwrap(),
            _ => return None,
        };
        self.next += 1;
        Some(match self.is_packed {
            true => zstd::bulk::compress(&tar, 1).unwrap(),
            false => tar,
        })
    }
}

impl Read for Made {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.chunk.read(out)?;
            if count > 0 {
                return Ok(count);
            }
            match self.make() {
                Some(chunk) => self.chunk = io::Cursor::new(chunk),
                None => return Ok(0),
            }
        }
    }
}

fn read_made(storages: u64, is_packed: bool) {
    let progress = Progress::default();
    let (mut accounts, mut bytes) = (0, 0);
    let made = Made::new(storages, is_packed);
    let end = read_archive(made, &ArchiveLimits::default(), &progress, &mut |entry| {
        accounts += 1;
        bytes += entry.data.len();
        Ok(())
    });
    assert_eq!(end.unwrap().entries, accounts);
    assert_eq!(accounts, storages * (STORAGE_ACCOUNTS + 1));
    let each = STORAGE_ACCOUNTS as usize * SMALL + LARGEST;
    assert_eq!(bytes, storages as usize * each);
}

/// Loads token accounts of many mints and wallets, with rows in every index.
fn load_made(count: u64) {
    let dir = tempfile::tempdir().unwrap();
    let load = LoadOptions {
        sort_memory_bytes: SORT_MEMORY_BYTES_MIN,
        transaction_bytes: 1 << 20,
        disk_reserve_bytes: 0,
        checkpoint_every: None,
    };
    let mut loader = Loader::create(&dir.path().join("work"), &Scope::All, &load).unwrap();
    let mut data = [0; 165];
    data[108] = 1;
    for n in 0..count {
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        data[..32].copy_from_slice(&hash_of(mixed % 5_000));
        data[32..64].copy_from_slice(&hash_of(mixed % 70_000));
        data[64..72].copy_from_slice(&n.to_le_bytes());
        let account = AccountRef {
            slot: 1 + n % 40,
            lamports: 5,
            rent_epoch: u64::MAX,
            executable: false,
            owner: &TOKEN_PROGRAM,
            data: &data,
        };
        loader.push(0, &hash_of(mixed), &account).unwrap();
    }
    let base = Base {
        slot: 50,
        parent_slot: 49,
        blockhash: [3; 32],
        block_height: 40,
        block_time: None,
        root: 50,
    };
    let options = Options {
        map_bytes: 4 << 30,
        disk_reserve_bytes: 0,
        ..Options::default()
    };
    let (store_dir, progress) = (dir.path().join("store"), Progress::default());
    let loaded = loader
        .finish(&store_dir, &options, &base, &progress)
        .unwrap();
    assert_eq!(loaded.accounts, count);
    let store = Store::open_writer(&store_dir, &options).unwrap();
    let entries = store.stats().unwrap().entries;
    assert!(entries.contains(&("by_mint", count)), "{entries:?}");
}

/// Child process of the tests below: runs the measured task.
#[test]
fn measured() {
    let (Ok(task), Ok(count)) = (std::env::var(TASK), std::env::var(COUNT)) else {
        return;
    };
    let count: u64 = count.parse().unwrap();
    let before = anonymous_bytes();
    let ((), peak) = peak_of(|| match task.as_str() {
        "zstd" => read_made(count, true),
        "tar" => read_made(count, false),
        "load" => load_made(count),
        other => panic!("{other}"),
    });
    report(&[peak.saturating_sub(before)]);
}

fn measure(task: &str, count: u64) -> u64 {
    let variables = [(TASK, task.to_string()), (COUNT, count.to_string())];
    measuring::measure("measured", &variables)[0]
}

#[test]
fn the_memory_of_reading_an_archive_does_not_depend_on_its_size() {
    for task in ["zstd", "tar"] {
        // 42 MiB and 840 MiB of tar. The generator keeps one storage of 14 MiB, and two copies
        // while it grows.
        let (few, many) = (measure(task, 3), measure(task, 60));
        assert!(few < 128 * MIB, "{task}: {few} bytes");
        assert!(
            many < few + 32 * MIB,
            "{task}: {many} bytes, and {few} for a twentieth"
        );
    }
}

#[test]
fn the_memory_of_a_load_does_not_depend_on_the_number_of_accounts() {
    // 8 MiB of sort memory. The rows of the larger load take 14 times that.
    let (few, many) = (measure("load", 80_000), measure("load", 400_000));
    assert!(few < 64 * MIB, "{few} bytes");
    assert!(many < few + 16 * MIB, "{many} bytes, and {few} for a fifth");
}

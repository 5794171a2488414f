//! Tests of the spool: files, records and replay.

mod bounds;
mod properties;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::{TempDir, tempdir};

use super::*;
use crate::geyser::BlockSink;
use primitives::token::{TOKEN_PROGRAM, TokenProgram};
use store::{
    AccountUpdate, Block, BlockParts, Options, Store, TransactionCost, TransactionDetails,
    TransactionUpdate,
};
use sys::error::{Error, Result};

const OPTIONS: SpoolOptions = SpoolOptions {
    bytes_max: 1 << 30,
    ms_max: 1 << 30,
    segment_bytes_max: 1 << 20,
    disk_reserve_bytes: 0,
};
const LIMITS: ReplayLimits = ReplayLimits {
    blocks_max: 4,
    bytes_max: 1 << 20,
};

fn hash(fork: u8, slot: u64) -> [u8; 32] {
    let mut hash = [fork; 32];
    hash[..8].copy_from_slice(&slot.to_be_bytes());
    hash
}

/// A block that changes one account unique to it and one account common to all blocks.
fn block_of(fork: u8, slot: u64, parent_slot: u64) -> Block {
    let account = |key: [u8; 32]| AccountUpdate {
        is_signed: false,
        pubkey: key,
        lamports: slot,
        rent_epoch: u64::MAX,
        executable: false,
        owner: [9; 32],
        data: slot.to_le_bytes().to_vec(),
    };
    Block {
        slot,
        parent_slot,
        blockhash: hash(fork, slot),
        parent_blockhash: hash(fork, parent_slot),
        block_height: slot,
        block_time: Some(slot as i64),
        accounts: vec![account([1; 32]), account(hash(7, slot))],
        transactions: Vec::new(),
        parts: BlockParts::default(),
        root: slot.checked_sub(3),
        has_details: false,
    }
}

fn chain(slots: std::ops::RangeInclusive<u64>) -> Vec<Block> {
    slots.map(|slot| block_of(0, slot, slot - 1)).collect()
}

fn open(dir: &TempDir) -> Spool {
    Spool::open(&dir.path().join("spool"), OPTIONS).unwrap()
}

fn store_at(dir: &TempDir, block: &Block) -> Arc<Store> {
    let options = Options {
        map_bytes: 64 << 20,
        disk_reserve_bytes: 0,
        ..Options::default()
    };
    let store = Store::open_writer(&dir.path().join("store"), &options).unwrap();
    store.apply(block).unwrap();
    Arc::new(store)
}

fn replay(spool: &Spool, store: &Arc<Store>) -> Result<Replayed> {
    spool.replay(&Replaying {
        store: Arc::clone(store),
        base_slot: 5,
        rows_slot: None,
        limits: LIMITS,
        is_cancelled: &AtomicBool::new(false),
    })
}

fn segments(dir: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.path().join("spool")).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Checks each block's own account, and the common account at the last slot.
fn assert_holds(store: &Store, slots: std::ops::RangeInclusive<u64>) {
    let snapshot = store.snapshot().unwrap();
    let lamports = |key| snapshot.account(&key).unwrap().map(|found| found.lamports);
    assert_eq!(lamports([1; 32]), Some(*slots.end()));
    for slot in slots {
        assert_eq!(lamports(hash(7, slot)), Some(slot), "slot {slot}");
    }
}

#[test]
fn blocks_after_the_base_are_applied_and_later_blocks_go_to_the_store() {
    let dir = tempdir().unwrap();
    let spool = open(&dir);
    assert_eq!(spool.tip().unwrap(), None);
    spool.apply(&chain(3..=9)).unwrap();
    // A replay of the feed overlaps applied blocks.
    spool.apply(&chain(8..=11)).unwrap();
    assert_eq!(spool.stats().blocks, 9);
    assert_eq!(
        spool
            .stats()
            .first
            .map(|first| (first.slot, first.parent_slot)),
        Some((3, 2))
    );
    let store = store_at(&dir, &block_of(0, 5, 4));
    let replayed = replay(&spool, &store).unwrap();
    assert_eq!(
        replayed,
        Replayed {
            blocks: 6,
            slot: 11
        }
    );
    assert_eq!(spool.tip().unwrap(), store.tip().unwrap());
    spool.apply(&chain(12..=13)).unwrap();
    assert_eq!(store.tip().unwrap().unwrap().slot, 13);
    assert_eq!(spool.stats().applied_slot, Some(13));
    assert_holds(&store, 5..=13);
    assert!(store.check().unwrap().is_empty());
    assert!(replay(&spool, &store).is_err(), "only once");
}

#[test]
fn a_feed_that_continues_during_the_replay_loses_no_block() {
    let dir = tempdir().unwrap();
    let options = SpoolOptions {
        segment_bytes_max: 500,
        ..OPTIONS
    };
    let spool = Spool::open(&dir.path().join("spool"), options).unwrap();
    spool.apply(&chain(6..=60)).unwrap();
    assert!(segments(&dir).len() > 3);
    let store = store_at(&dir, &block_of(0, 5, 4));
    thread::scope(|scope| {
        let feed = scope.spawn(|| {
            for slot in 61..=400 {
                spool.apply(&[block_of(0, slot, slot - 1)]).unwrap();
            }
        });
        replay(&spool, &store).unwrap();
        feed.join().unwrap();
    });
    assert_eq!(store.tip().unwrap().unwrap().slot, 400);
    assert_holds(&store, 5..=400);
    assert!(segments(&dir).len() <= 2, "applied files are removed");
}

#[test]
fn a_replay_of_a_spool_behind_the_base_waits_for_the_next_block() {
    let dir = tempdir().unwrap();
    let spool = open(&dir);
    spool.apply(&chain(2..=4)).unwrap();
    let store = store_at(&dir, &block_of(0, 5, 4));
    thread::scope(|scope| {
        let replaying = scope.spawn(|| replay(&spool, &store));
        spool.apply(&chain(5..=5)).unwrap();
        thread::sleep(IDLE_TWICE);
        assert!(!replaying.is_finished(), "slot 5 is the base itself");
        spool.apply(&chain(6..=6)).unwrap();
        assert_eq!(replaying.join().unwrap().unwrap().slot, 6);
    });
}

const IDLE_TWICE: std::time::Duration = std::time::Duration::from_millis(200);

#[test]
fn rows_newer_than_the_base_delay_the_hand_over() {
    let dir = tempdir().unwrap();
    let spool = open(&dir);
    spool.apply(&chain(6..=8)).unwrap();
    let store = store_at(&dir, &block_of(0, 5, 4));
    let is_cancelled = AtomicBool::new(false);
    let replaying = Replaying {
        store: Arc::clone(&store),
        base_slot: 5,
        rows_slot: Some(9),
        limits: LIMITS,
        is_cancelled: &is_cancelled,
    };
    thread::scope(|scope| {
        let first = scope.spawn(|| spool.replay(&replaying));
        thread::sleep(IDLE_TWICE);
        assert!(!first.is_finished());
        is_cancelled.store(true, Ordering::Relaxed);
        assert!(first.join().unwrap().is_err());
    });
    is_cancelled.store(false, Ordering::Relaxed);
    spool.apply(&chain(9..=10)).unwrap();
    assert_eq!(
        spool.replay(&replaying).unwrap(),
        Replayed {
            blocks: 2,
            slot: 10
        }
    );
}

#[test]
fn a_spool_that_does_not_continue_the_base_is_rejected_with_the_reason() {
    let cases: [(Vec<Block>, &str); 5] = [
        (
            chain(8..=9),
            "read from slot 8 on, which follows slot 7: what lies between is missing",
        ),
        (
            vec![block_of(0, 6, 3)],
            "slot 5, as of which the store was loaded, is not on its chain",
        ),
        (vec![block_of(1, 6, 5)], "slot 6 of the feed follows block"),
        (
            vec![block_of(1, 5, 4), block_of(1, 6, 5)],
            "the feed's block in slot 5 is",
        ),
        (
            vec![block_of(0, 4, 3), block_of(0, 7, 4)],
            "is not on its chain",
        ),
    ];
    for (blocks, reason) in cases {
        let dir = tempdir().unwrap();
        let spool = open(&dir);
        spool.apply(&blocks).unwrap();
        let store = store_at(&dir, &block_of(0, 5, 4));
        let error = replay(&spool, &store).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(store.tip().unwrap().unwrap().slot, 5, "nothing is applied");
        assert!(
            spool.tip().unwrap().unwrap().slot > 5,
            "and the spool is as it was"
        );
    }
}

/// Balances of a mint's accounts in a block; the account's number is in its address.
fn balances(slot: u64, changes: impl Iterator<Item = (u64, u64)>) -> Block {
    let to_account = |(number, amount): (u64, u64)| {
        let mut data = vec![0; 165];
        data[..32].fill(0xAA);
        data[64..72].copy_from_slice(&amount.to_le_bytes());
        data[108] = 1;
        AccountUpdate {
            is_signed: false,
            pubkey: hash(8, number),
            lamports: 1,
            rent_epoch: u64::MAX,
            executable: false,
            owner: TOKEN_PROGRAM,
            data,
        }
    };
    Block {
        accounts: changes.map(to_account).collect(),
        ..block_of(0, slot, slot - 1)
    }
}

#[test]
fn the_feed_of_a_bootstrap_refills_short_rows_of_holders() {
    let dir = tempdir().unwrap();
    let spool = open(&dir);
    let base = balances(5, (0..300).map(|n| (n, n + 1)));
    let store = store_at(&dir, &base);
    let soon = || Instant::now() + Duration::from_secs(60);
    // The replay empties every account that the row has: it is short.
    spool
        .apply(&[balances(6, (200..300).map(|n| (n, 0)))])
        .unwrap();
    assert!(!spool.tidy(soon()).unwrap(), "there is no store yet");
    replay(&spool, &store).unwrap();
    assert_eq!(store.stats().unwrap().short_holders, 1);
    // The writer of the feed does this after each commit.
    while spool.tidy(soon()).unwrap() {}
    spool.apply(&chain(7..=7)).unwrap();
    assert_eq!(store.stats().unwrap().short_holders, 0);
    let snapshot = store.snapshot().unwrap();
    let largest = snapshot.holders(TokenProgram::Token, &[0xAA; 32], 1);
    assert_eq!(largest.unwrap(), Some(vec![(200, hash(8, 199))]));
}

#[test]
fn a_partial_last_record_is_truncated_on_open() {
    let dir = tempdir().unwrap();
    let whole = {
        let spool = open(&dir);
        spool.apply(&chain(6..=9)).unwrap();
        spool.stats()
    };
    assert_eq!(open(&dir).stats(), whole, "it opens as it was left");
    let path = segments(&dir).pop().unwrap();
    let len = fs::metadata(&path).unwrap().len();
    for cut in [1, 31, 32, 33, 100] {
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(len - cut).unwrap();
        let spool = open(&dir);
        assert_eq!(spool.tip().unwrap().unwrap().slot, 8, "cut by {cut}");
        spool.apply(&chain(9..=9)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), len);
    }
    // A changed byte in the last record is detected too.
    let at = len - 5;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
    assert_eq!(open(&dir).tip().unwrap().unwrap().slot, 8);
}

#[test]
fn damage_before_the_end_is_an_error() {
    let dir = tempdir().unwrap();
    let options = SpoolOptions {
        segment_bytes_max: 1,
        ..OPTIONS
    };
    let path = dir.path().join("spool");
    Spool::open(&path, options)
        .unwrap()
        .apply(&chain(6..=8))
        .unwrap();
    let first = segments(&dir).remove(0);
    let file = OpenOptions::new().write(true).open(first).unwrap();
    file.write_all_at(&[0xFF], 40).unwrap();
    let error = Spool::open(&path, options).err().unwrap();
    assert!(error.to_string().contains("is damaged"), "{error}");
}

#[test]
fn a_block_that_does_not_continue_the_spool_is_rejected() {
    let dir = tempdir().unwrap();
    let spool = open(&dir);
    spool.apply(&chain(6..=8)).unwrap();
    assert!(matches!(
        spool.apply(&[block_of(0, 10, 9)]),
        Err(Error::NotNextBlock(_))
    ));
    assert!(matches!(
        spool.apply(&[block_of(1, 9, 8)]),
        Err(Error::NotNextBlock(_))
    ));
    assert_eq!(spool.tip().unwrap().unwrap().slot, 8);
    spool.apply(&chain(9..=9)).unwrap();
    assert_eq!(spool.stats().failure, None);
}

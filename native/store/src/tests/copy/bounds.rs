//! Tests of what a copy takes and of copies that end early.

use std::fs;

use super::super::{Temporary, account, block, noise, number, open, options};
use super::{assert_equal, next_block, rows_of, steps_of};
use crate::copy::bounds::Bounds;
use crate::{Options, Store};
use primitives::Pubkey;
use sys::error::Error;

/// A store with so many accounts of `bytes` bytes, in blocks of 1,000.
fn fill(store: &Store, accounts: u64, bytes: usize) -> u64 {
    let blocks = accounts / 1_000;
    for nth in 0..blocks {
        let numbers = nth * 1_000..(nth + 1) * 1_000;
        let updates = numbers.map(|n| account(scattered(n), 1, [9; 32], &noise(n, bytes)));
        store.apply(&block(nth + 1, updates.collect())).unwrap();
    }
    blocks
}

fn scattered(n: u64) -> Pubkey {
    let mut pubkey = number(n);
    pubkey[..8].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    pubkey
}

const PAGE: u64 = 4_096;
const ACCOUNTS: u64 = 40_000;

/// Pages by which the store's file grows during a copy, and pages before it. Each step of the copy
/// is followed by a commit.
fn growth(options: &Options) -> (u64, u64) {
    let temporary = open(options);
    let store = &temporary.store;
    let mut slot = fill(store, ACCOUNTS, 1_000);
    let mut apply = || {
        slot += 1;
        let numbers = (0..30).map(|n| scattered((slot * 7_919 + n * 1_237) % ACCOUNTS));
        let updates = numbers.map(|key| account(key, slot, [9; 32], &noise(slot, 1_000)));
        store.apply(&block(slot, updates.collect())).unwrap();
    };
    // Until free pages suffice for a commit.
    (0..20).for_each(|_| apply());
    let pages = || {
        fs::metadata(temporary.dir.path().join("data.mdb"))
            .unwrap()
            .len()
            / PAGE
    };
    let before = pages();
    let dir = tempfile::tempdir().unwrap();
    let mut commits = 0;
    store
        .copy_by(dir.path(), steps_of(256 << 10), &mut || {
            apply();
            commits += 1;
        })
        .unwrap();
    assert!(commits > 150, "{commits} commits");
    (pages() - before, before)
}

#[test]
fn the_file_grows_by_less_than_a_twentieth_during_a_copy() {
    let (grown, before) = growth(&options());
    assert!(grown * 20 <= before, "{grown} pages more than {before}");
    // Without segments a copy is one read, and the file grows with each commit.
    let without = Options {
        feed_bytes_max: 0,
        ..options()
    };
    let (grown, before) = growth(&without);
    assert!(grown * 4 > before, "{grown} pages more than {before}");
}

#[test]
fn without_segments_a_copy_is_of_the_commit_at_its_begin() {
    let options = Options {
        feed_bytes_max: 0,
        ..options()
    };
    let temporary = open(&options);
    let store = &temporary.store;
    let mut slot = fill(store, 1_000, 40);
    let expected = rows_of(store);
    let dir = tempfile::tempdir().unwrap();
    store
        .copy_by(dir.path(), steps_of(10_000), &mut || {
            slot += 1;
            let update = account(scattered(slot), slot, [8; 32], b"changed");
            store.apply(&block(slot, vec![update])).unwrap();
        })
        .unwrap();
    assert!(slot > 10);
    assert!(rows_of(&Store::open_reader(dir.path(), &options).unwrap()) == expected);
}

/// A copy of a store of 1,000 accounts, with what happens after each step.
fn copy_beside(
    options: &Options,
    bounds: Bounds,
    happen: &mut dyn FnMut(&Temporary, usize),
) -> Result<(), Error> {
    let temporary = open(options);
    fill(&temporary.store, 1_000, 400);
    let dir = tempfile::tempdir().unwrap();
    let mut steps = 0;
    let copied = temporary.store.copy_by(dir.path(), bounds, &mut || {
        happen(&temporary, steps);
        steps += 1;
    });
    if copied.is_ok() {
        assert_equal(dir.path(), &temporary.store);
    } else {
        Store::open_reader(dir.path(), options).err().unwrap();
    }
    copied
}

/// Applies blocks that each write an account of 1,000 bytes.
fn apply_blocks(store: &Store, count: u64) -> u64 {
    let tip = store.tip().unwrap().unwrap().slot;
    for slot in tip + 1..=tip + count {
        let update = account(scattered(slot % 1_000), slot, [9; 32], &noise(slot, 1_000));
        store.apply(&block(slot, vec![update])).unwrap();
    }
    tip + 1
}

#[test]
fn a_copy_that_cannot_follow_begins_again_once() {
    let small = Options {
        feed_bytes_max: 64 << 10,
        ..options()
    };
    let bounds = steps_of(20_000);
    let mut first = 0;
    copy_beside(&small, bounds, &mut |temporary, step| {
        let is_lost = step == 5;
        apply_blocks(&temporary.store, if is_lost { 200 } else { 1 });
    })
    .unwrap();
    let lost = copy_beside(&small, bounds, &mut |temporary, _| {
        first = apply_blocks(&temporary.store, 200);
    });
    let begin = "cannot follow the blocks that are applied meanwhile: ";
    let expected = format!(
        "{begin}what changed in slot {first} is not kept, raise store.feedBytesMax or free space on \
         the disk"
    );
    assert_eq!(lost.unwrap_err().detail(), expected);

    let damage = &mut |temporary: &Temporary, _| {
        first = apply_blocks(&temporary.store, 3);
        temporary.damage_feed(first + 1);
    };
    let lost = copy_beside(&options(), bounds, damage).unwrap_err();
    let slot = first + 1;
    assert_eq!(
        lost.detail(),
        format!("{begin}what changed in slot {slot} is damaged")
    );

    let few = Bounds {
        accounts: 50,
        ..bounds
    };
    let many = &mut |temporary: &Temporary, _| {
        let tip = temporary.store.tip().unwrap().unwrap().slot;
        let updates = (0..1_000).map(|n| account(scattered(n), tip, [9; 32], &[]));
        temporary
            .store
            .apply(&block(tip + 1, updates.collect()))
            .unwrap();
    };
    let lost = copy_beside(&options(), few, many).unwrap_err();
    assert!(
        lost.detail()
            .ends_with(" accounts were written between two steps"),
        "{lost}"
    );

    let far = &mut |temporary: &Temporary, step| {
        // 3,000 slots are kept, and 512 blocks.
        for _ in 0..if step == 0 { 520 } else { 1 } {
            first = temporary.store.tip().unwrap().unwrap().slot;
            temporary
                .store
                .apply(&next_block(first, 4_000, Vec::new()))
                .unwrap();
        }
    };
    copy_beside(&options(), bounds, far).unwrap();
}

#[test]
fn a_disk_with_less_than_the_reserve_is_named() {
    let temporary = open(&options());
    fill(&temporary.store, 1_000, 40);
    let dir = tempfile::tempdir().unwrap();
    let path = temporary.dir.path().to_path_buf();
    drop(temporary.store);
    let reserved = Options {
        disk_reserve_bytes: 1 << 60,
        ..options()
    };
    let store = Store::open_reader(&path, &reserved).unwrap();
    let Err(Error::StoreStopped(says)) = store.copy_to(dir.path()) else {
        panic!("copied");
    };
    let begin = "cannot be written, its disk is full: ";
    let end = " bytes are free and store.diskReserveBytes is 1152921504606846976, free some of it";
    let free = says
        .strip_prefix(begin)
        .and_then(|rest| rest.strip_suffix(end));
    assert!(
        free.is_some_and(|free| free.parse::<u64>().is_ok()),
        "{says}"
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_copy_that_was_cut_at_any_step_is_no_store() {
    let temporary = open(&options());
    fill(&temporary.store, 1_000, 40);
    let dir = tempfile::tempdir().unwrap();
    let mut cuts = 0;
    let cut = &mut || {
        // What a killed process leaves.
        let left = tempfile::tempdir().unwrap();
        fs::copy(dir.path().join("data.mdb"), left.path().join("data.mdb")).unwrap();
        for open in [Store::open_reader, Store::open_writer] {
            let refused = open(left.path(), &options()).err().unwrap();
            assert!(matches!(refused, Error::StoreOutdated(_)), "{refused}");
        }
        cuts += 1;
    };
    temporary
        .store
        .copy_by(dir.path(), steps_of(5_000), cut)
        .unwrap();
    assert!(cuts > 40, "{cuts} steps");
    assert_equal(dir.path(), &temporary.store);
}

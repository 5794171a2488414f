//! Tests that a walk finds the same records as a read.

mod damaged;
mod map;
mod prefetched_keys;
mod writing;

use super::mapped::ACCOUNTS_TABLE;
use super::walk::{KEYS_AT_ONCE, Tree, walk};
use crate::snapshot::Snapshot;
use crate::testing::{Temporary, account, block, open, options, take_found};
use crate::{AccountUpdate, Store};
use primitives::Pubkey;

/// Unordered keys (splitmix64); keys whose `n` is a multiple of 5 share a prefix.
fn key(n: u64) -> Pubkey {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^= z >> 27;
    let mut key = [7; 32];
    if !n.is_multiple_of(5) {
        key[..8].copy_from_slice(&z.to_be_bytes());
    }
    key[24..].copy_from_slice(&z.to_be_bytes());
    key
}

/// Accounts with these sizes in turn, one per number.
fn updates(numbers: std::ops::Range<u64>, sizes: &[usize]) -> Vec<AccountUpdate> {
    let one = |n| {
        account(
            key(n),
            n + 1,
            [9; 32],
            &vec![n as u8; sizes[n as usize % sizes.len()]],
        )
    };
    numbers.map(one).collect()
}

fn tree_of(snapshot: &Snapshot<'_>) -> Option<Tree> {
    let mapped = snapshot.store.mapped.as_ref().expect("the map is found");
    mapped.tree(&snapshot.txn, ACCOUNTS_TABLE)
}

/// Asserts that each walk ends at the bytes that LMDB returns, and finds nothing if LMDB finds
/// nothing. Returns the number of records found.
fn assert_ends_at_records(snapshot: &Snapshot<'_>, keys: &[Pubkey]) -> usize {
    let store = snapshot.store;
    let mapped = store.mapped.as_ref().unwrap();
    let tree = tree_of(snapshot).expect("a tree with pages");
    let pages = mapped.pages(&snapshot.txn, store.env.info().last_page_number);
    let mut found = 0;
    for group in keys.chunks(KEYS_AT_ONCE) {
        let values = walk(&pages, tree, group);
        for (key, seen) in group.iter().zip(values) {
            let read = snapshot.tables().accounts.get(&snapshot.txn, key).unwrap();
            assert_eq!(
                seen.map(<[u8]>::as_ptr),
                read.map(<[u8]>::as_ptr),
                "{key:?}"
            );
            if let (Some(seen), Some(read)) = (seen, read) {
                assert!(!seen.is_empty() && read.starts_with(seen));
                found += 1;
            }
        }
        assert!(values.iter().skip(group.len()).all(Option::is_none));
    }
    found
}

fn stored(count: u64, sizes: &[usize]) -> Temporary {
    let temporary = open(&options());
    let numbers: Vec<u64> = (0..count).collect();
    for (slot, numbers) in (1..).zip(numbers.chunks(2_000)) {
        let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
        let accounts = updates(first..last + 1, sizes);
        temporary.store.apply(&block(slot, accounts)).unwrap();
    }
    temporary
}

/// Sizes of data: in a leaf, in a leaf of two or three, on one overflow page, on several.
const SMALL: &[usize] = &[0, 165, 82, 400];
const MIXED: &[usize] = &[0, 165, 1_500, 1_700, 4_100, 30_000];
const LARGE: &[usize] = &[1_500, 2_500];

#[test]
fn a_walk_finds_the_same_record_as_a_read_at_any_tree_depth() {
    let cases = [
        (1, SMALL, 1),
        (5, SMALL, 1),
        (300, SMALL, 2),
        (120, MIXED, 2),
        (900, LARGE, 3),
        (12_000, SMALL, 3),
        (20_000, LARGE, 4),
    ];
    for (count, sizes, depth) in cases {
        let Temporary { store, dir } = stored(count, sizes);
        // Every second key is absent: before the first record, after the last, and between records.
        let mut keys: Vec<Pubkey> = (0..count).flat_map(|n| [key(n), key(n + count)]).collect();
        keys.extend([[0; 32], [0xFF; 32]]);
        let check = |store: &Store| {
            let snapshot = store.snapshot().unwrap();
            let tree = tree_of(&snapshot).unwrap();
            assert_eq!(tree.depth, depth, "{count}");
            assert_eq!(assert_ends_at_records(&snapshot, &keys), count as usize);
        };
        check(&store);
        drop(store);
        check(&Store::open_reader(dir.path(), &options()).unwrap());
    }
}

#[test]
fn an_empty_store_has_no_tree() {
    let temporary = open(&options());
    let snapshot = temporary.store.snapshot().unwrap();
    assert_eq!(tree_of(&snapshot), None);
    take_found();
    snapshot.prefetch(&[key(1), key(2)]);
    assert_eq!(take_found(), 0);
}

#[test]
fn a_single_key_is_not_prefetched() {
    let temporary = stored(300, SMALL);
    let snapshot = temporary.store.snapshot().unwrap();
    take_found();
    snapshot.prefetch::<Pubkey>(&[]);
    snapshot.prefetch(&[key(1)]);
    assert_eq!(take_found(), 0);
    snapshot.prefetch(&[key(1), key(2)]);
    assert_eq!(take_found(), 2);
    let keys: Vec<Pubkey> = (0..KEYS_AT_ONCE as u64 + 9).map(key).collect();
    snapshot.prefetch(&keys);
    assert_eq!(take_found(), KEYS_AT_ONCE);
}

//! Tests of the segment files: what was written is read, or known to be missing.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::history::{feed, signature};
use super::{account, assert_sound, block, noise, number, open, options};
use crate::history::feed_segments as segments;
use crate::testing::Temporary;
use crate::{
    Block, BlockParts, FeedEnd, FeedPosition, Options, Part, Snapshot, Store, TransactionUpdate,
};

/// A block with one account of so many bytes for each number, and as many transactions.
pub(super) fn block_of(slot: u64, sizes: &[usize]) -> Block {
    let accounts = (0..).zip(sizes).map(|(n, bytes)| {
        // Half of them can be compressed.
        let data = match n % 2 {
            0 => noise(slot + n, *bytes),
            _ => vec![slot as u8; *bytes],
        };
        account(number(n), slot, [9; 32], &data)
    });
    let transactions = (0..sizes.len() as u64).map(|n| TransactionUpdate {
        signature: signature(slot * 100 + n),
        index: 0,
        error: None,
        details: None,
    });
    // As long as an account, and shorter.
    let bytes_of = |divisor: usize| sizes.iter().map(move |bytes| noise(slot, bytes / divisor));
    Block {
        transactions: transactions.collect(),
        parts: BlockParts {
            meta: bytes_of(10).next().unwrap_or_default(),
            footer: bytes_of(1).next(),
            entries: bytes_of(2).collect(),
        },
        ..block(slot, accounts.collect())
    }
}

/// The changes that can be read of a slot, as text, and how that ended.
fn read(snapshot: &Snapshot<'_>, slot: u64, from: FeedPosition) -> (Vec<String>, FeedEnd) {
    let mut seen = Vec::new();
    let end = snapshot.feed_from(slot, from, &mut |change| {
        seen.push(format!("{change:?}"));
        Ok(ControlFlow::Continue(()))
    });
    (seen, end.unwrap())
}

fn all(store: &Store, slot: u64) -> (Vec<String>, FeedEnd) {
    let snapshot = store.snapshot().unwrap();
    let (mut seen, end) = read(&snapshot, slot, FeedPosition::default());
    if !is_whole(end) {
        return (seen, end);
    }
    let mut push = |part: Part<'_>| seen.push(format!("{part:?}"));
    let end_of_parts = snapshot.feed_parts(slot, true, &mut push).unwrap();
    (seen, end_of_parts)
}

fn is_whole(end: FeedEnd) -> bool {
    matches!(end, FeedEnd::Whole(_))
}

pub(super) fn segments_of(dir: &Path) -> (Vec<u64>, u64) {
    let dir = segments::dir_of(dir);
    let numbers = segments::numbers(&dir).unwrap();
    let length = |number: &u64| {
        fs::metadata(segments::path_of(&dir, *number))
            .unwrap()
            .len()
    };
    let bytes = numbers.iter().map(length).sum();
    (numbers, bytes)
}

/// Sizes over, at and under a chunk.
pub(super) fn sizes() -> impl Strategy<Value = Vec<usize>> {
    vec(
        prop_oneof![8 => 0usize..3_000, 2 => 100_000usize..300_000, 1 => Just(600_000)],
        0..6,
    )
}

#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Truncate(Index),
    Remove,
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => (any::<Index>(), 1u8..=255).prop_map(|(at, by)| Damage::Flip(at, by)),
        2 => any::<Index>().prop_map(Damage::Truncate),
        1 => Just(Damage::Remove),
    ]
}

impl Damage {
    fn of(&self, path: &Path) {
        let mut bytes = fs::read(path).unwrap();
        match self {
            Damage::Remove => return fs::remove_file(path).unwrap(),
            _ if bytes.is_empty() => return,
            Damage::Flip(at, by) => {
                let at = at.index(bytes.len());
                bytes[at] ^= by;
            }
            Damage::Truncate(at) => bytes.truncate(at.index(bytes.len())),
        }
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn parts_of_a_block_are_read_beside_its_changes() {
    let temporary = open(&options());
    let store = &temporary.store;
    let entries: Vec<Vec<u8>> = (0..9_000).map(|n| noise(n, 40)).collect();
    let parts = BlockParts {
        meta: vec![1, 2],
        footer: Some(Vec::new()),
        entries: entries.clone(),
    };
    store.apply(&block(1, Vec::new())).unwrap();
    let changes = block_of(2, &[10, 300_000]);
    let without = Block {
        parts: BlockParts::default(),
        ..changes.clone()
    };
    store.apply(&without).unwrap();
    let with = Block {
        slot: 3,
        parts,
        ..block_of(3, &[10, 300_000])
    };
    store.apply(&with).unwrap();
    let snapshot = store.snapshot().unwrap();
    let parts_of = |slot: u64, wants_entries: bool| {
        let (mut found, mut others) = (Vec::new(), Vec::new());
        let end = snapshot.feed_parts(slot, wants_entries, &mut |part| match part {
            Part::Entry(entry) => found.push(entry.to_vec()),
            other => others.push(format!("{other:?}")),
        });
        assert!(is_whole(end.unwrap()), "slot {slot}");
        (found, others)
    };
    let others = ["Meta([1, 2])", "Footer([])"].map(String::from).to_vec();
    assert_eq!(parts_of(3, true), (entries, others.clone()));
    assert_eq!(parts_of(3, false), (Vec::new(), others));
    // As a former build has written it.
    assert_eq!(parts_of(2, true), (Vec::new(), Vec::new()));
    // Neither changes nor positions among them are touched.
    let (seen, end) = read(&snapshot, 3, FeedPosition::default());
    assert_eq!((seen.len(), is_whole(end)), (4, true));
    let after_accounts = FeedPosition::default().without_accounts();
    assert_eq!(read(&snapshot, 3, after_accounts).0.len(), 2);
    drop(snapshot);
    assert_sound(store);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_segment_is_noticed_and_gives_no_wrong_change(
        blocks in vec(sizes(), 1..8),
        segment_slots in 1u64..4,
        (which, damage) in (any::<Index>(), damage()),
    ) {
        // 16 segments of so many slots, at the 1,000 ms of the blocks.
        let options = Options { feed_ms: 16 * 200 * segment_slots, ..options() };
        let temporary = open(&options);
        let store = &temporary.store;
        for (slot, sizes) in (1..).zip(&blocks) {
            store.apply(&block_of(slot, sizes)).unwrap();
        }
        let slots = 1..=blocks.len() as u64;
        let before: Vec<_> = slots.clone().map(|slot| all(store, slot)).collect();
        prop_assert!(before.iter().all(|(_, end)| is_whole(*end)));
        let (numbers, _) = segments_of(temporary.dir.path());
        let damaged = *which.get(&numbers);
        let path = segments::path_of(&segments::dir_of(temporary.dir.path()), damaged);
        let file_bytes = fs::metadata(&path).unwrap().len();
        damage.of(&path);
        let mut is_noticed = false;
        for (slot, (changes, _)) in slots.zip(&before) {
            let (found, end) = all(store, slot);
            prop_assert!(changes.starts_with(&found), "slot {slot}");
            prop_assert!(found.len() == changes.len() || !is_whole(end));
            // Only the oldest segment could have been removed by the writer.
            prop_assert!(end != FeedEnd::Absent || damaged == numbers[0]);
            let says = store.check().unwrap();
            prop_assert!(end != FeedEnd::Damaged || !says.is_empty());
            is_noticed |= !is_whole(end);
        }
        let is_empty = before.iter().all(|(changes, _)| changes.is_empty());
        prop_assert!(is_noticed || is_empty || file_bytes == 0);
        // The store goes on, also after a start.
        let next = blocks.len() as u64 + 1;
        store.apply(&block_of(next, &[10])).unwrap();
        prop_assert!(is_whole(all(store, next).1));
        let Temporary { store, dir } = temporary;
        drop(store);
        let store = Store::open_writer(dir.path(), &options).unwrap();
        store.apply(&block_of(next + 1, &[10])).unwrap();
        for slot in next..=next + 1 {
            prop_assert!(is_whole(all(&store, slot).1));
        }
    }
}

#[test]
fn all_segments_together_keep_the_bytes() {
    let bytes_max = 200_000;
    let Temporary { store, dir } = open(&Options {
        feed_bytes_max: bytes_max,
        ..options()
    });
    for slot in 1..200 {
        store.apply(&block_of(slot, &[3_000, 100])).unwrap();
        let (numbers, bytes) = segments_of(dir.path());
        let stats = store.stats().unwrap();
        assert_eq!(stats.feed_bytes, bytes);
        // Each of these slots is still read, and the one before is not.
        let snapshot = store.snapshot().unwrap();
        let first = slot + 1 - stats.feed_slots;
        let end_of = |slot| read(&snapshot, slot, FeedPosition::default()).1;
        assert_ne!(end_of(first), FeedEnd::Absent);
        assert!(first == 1 || end_of(first - 1) == FeedEnd::Absent);
        assert!(bytes <= bytes_max && numbers.len() <= 18, "{bytes}");
        // A sixteenth may be removed together, and a record may be over it.
        assert!(slot < 70 || bytes >= bytes_max - bytes_max / 16 - 2 * 3_300);
    }
}

/// Below twice the reserve the oldest go, one after the other if that is enough, and the store goes
/// on; below the reserve it stops.
#[test]
fn on_a_disk_with_little_space_the_oldest_changes_go() {
    let dir = tempfile::tempdir().unwrap();
    let begin = |disk_reserve_bytes| {
        let kept = Options {
            feed_bytes_max: 1 << 20,
            disk_reserve_bytes,
            ..options()
        };
        Store::open_writer(dir.path(), &kept).unwrap()
    };
    let store = begin(1);
    for slot in 1..=40 {
        store.apply(&block_of(slot, &[30_000])).unwrap();
    }
    let (before, _) = segments_of(dir.path());
    assert!(before.len() > 10, "{before:?}");
    drop(store);
    // Others write to the disk meanwhile, so this is far from both bounds.
    let free_bytes = crate::disk_space::free_bytes(dir.path()).unwrap();
    let store = begin(free_bytes / 4 * 3);
    store.apply(&block_of(41, &[30_000])).unwrap();
    let (after, _) = segments_of(dir.path());
    assert!(after.len() <= 2, "{after:?}");
    assert!(is_whole(all(&store, 41).1));
    assert_eq!(all(&store, 1).1, FeedEnd::Absent);
    drop(store);
    let store = begin(free_bytes.saturating_mul(2));
    let refused = store.apply(&block_of(42, &[10])).unwrap_err();
    assert_eq!(refused.name(), "diskReserve", "{refused}");
    assert_sound(&store);
}

#[test]
fn a_reader_behind_the_limits_finds_no_slot() {
    let temporary = open(&Options {
        feed_ms: 600,
        ..options()
    });
    let store = &temporary.store;
    store.apply(&block_of(1, &[10])).unwrap();
    std::thread::scope(|scope| {
        let before = store.snapshot().unwrap();
        let apply = || {
            for slot in 2..9 {
                store.apply(&block_of(slot, &[10])).unwrap();
            }
        };
        scope.spawn(apply).join().unwrap();
        let (_, end) = read(&before, 1, FeedPosition::default());
        assert_eq!(end, FeedEnd::Absent);
    });
    assert!(is_whole(all(store, 8).1));
}

#[test]
fn a_change_is_read_from_within_its_chunk_and_without_the_accounts_before() {
    let temporary = open(&options());
    let store = &temporary.store;
    store
        .apply(&block_of(1, &[5_000, 300_000, 200, 200_000, 90_000]))
        .unwrap();
    let snapshot = store.snapshot().unwrap();
    let (changes, _) = read(&snapshot, 1, FeedPosition::default());
    for stop in 0..changes.len() {
        let mut left = stop;
        let end = snapshot.feed_from(1, FeedPosition::default(), &mut |_| {
            left = left.wrapping_sub(1);
            Ok(if left == usize::MAX {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        });
        let FeedEnd::Stopped(position) = end.unwrap() else {
            panic!("{stop}")
        };
        assert_eq!(read(&snapshot, 1, position).0, changes[stop..]);
        let transactions = position.without_accounts();
        assert_eq!(read(&snapshot, 1, transactions).0, changes[stop.max(5)..]);
    }
    drop(snapshot);
    let (path, range) = temporary.feed_record(1);
    // The first chunk is not read then.
    let mut bytes = fs::read(&path).unwrap();
    bytes[range.start as usize + 40] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert_eq!(all(store, 1), (vec![], FeedEnd::Damaged));
    let transactions = FeedPosition::default().without_accounts();
    let (found, end) = read(&store.snapshot().unwrap(), 1, transactions);
    assert_eq!((found, is_whole(end)), (changes[5..].to_vec(), true));
}

#[test]
fn a_store_with_the_former_table_loses_its_changes() {
    let Temporary { store, dir } = open(&options());
    store.apply(&block(1, vec![])).unwrap();
    let mut txn = store.env.write_txn().unwrap();
    let former: crate::tables::Db = store.env.create_database(&mut txn, Some("feed")).unwrap();
    for n in 0..100u64 {
        former.put(&mut txn, &n.to_be_bytes(), &[7; 500]).unwrap();
    }
    let meta = store.tables.meta;
    meta.put(&mut txn, b"schema", &4u32.to_be_bytes()).unwrap();
    let tip = store.tables.tip(&txn).unwrap().unwrap();
    let row = crate::rows::record::encode_block(&tip);
    let blocks = store.tables.blocks;
    blocks.put(&mut txn, &1u64.to_be_bytes(), &row).unwrap();
    txn.commit().unwrap();
    drop(store);
    let store = Store::open_writer(dir.path(), &options()).unwrap();
    let txn = store.env.read_txn().unwrap();
    let former: crate::tables::Db = store
        .env
        .open_database(&txn, Some("feed"))
        .unwrap()
        .unwrap();
    assert!(former.is_empty(&txn).unwrap());
    drop(txn);
    store.apply(&block_of(2, &[1])).unwrap();
    assert_eq!(feed(&store, 1), None);
    assert!(feed(&store, 2).is_some());
    assert_sound(&store);
}

#[test]
fn a_full_disk_stops_the_store_and_leaves_nothing_of_the_slot() {
    let Temporary { store, dir } = open(&Options {
        feed_ms: 200,
        ..options()
    });
    store.apply(&block_of(1, &[10])).unwrap();
    let (numbers, _) = segments_of(dir.path());
    let all_sizes = [&[10, 20][..], &[400_000, 300_000, 20]];
    for (number, sizes) in (numbers[0] + 1..).zip(all_sizes) {
        // Where the next segment goes.
        let next = segments::path_of(&segments::dir_of(dir.path()), number);
        std::os::unix::fs::symlink("/dev/full", &next).unwrap();
        let refused = store.apply(&block_of(2, sizes)).unwrap_err();
        assert_eq!(refused.name(), "storeStopped", "{refused}");
        assert_eq!(store.tip().unwrap().unwrap().slot, 1);
        let _ = fs::remove_file(&next);
    }
    store.apply(&block_of(2, &[10, 500_000])).unwrap();
    assert!(is_whole(all(&store, 2).1));
    assert_sound(&store);
}

//! Tests that a killed writer leaves the last complete block.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{TOKEN_PROGRAM, account, assert_sound, block, number, options, token_data};
use crate::testing::naive::Model;
use crate::{AccountUpdate, Options, Store};
use primitives::Pubkey;

const CHILD: &str = "SLOTLINE_TEST_STORE";
const ROUND: &str = "SLOTLINE_TEST_ROUND";
const INSPECTOR: &str = "SLOTLINE_TEST_INSPECTOR";

/// Slots whose changes are compared after each kill: a commit that was killed may have removed the
/// sixteenth.
const SLOTS_SHOWN: u64 = 14;

type Change = (Pubkey, u64, Pubkey, Vec<u8>);

/// The updates of a slot, equal in both processes.
fn updates(slot: u64) -> Vec<AccountUpdate> {
    let one = |n: u64| {
        let id = n.wrapping_mul(slot * 7 + 3) % 900;
        let data = token_data(&number(id % 9), &number(n % 5), n ^ slot, 1);
        account(number(id), (n + slot) % 6, TOKEN_PROGRAM, &data)
    };
    (0..400).map(one).collect()
}

/// What the feed shows of these updates.
fn changes(slot: u64) -> Vec<Change> {
    let mut last = BTreeMap::new();
    for update in updates(slot) {
        last.insert(update.pubkey, update);
    }
    let shown = |update: AccountUpdate| match update.lamports {
        0 => (update.pubkey, 0, [0; 32], Vec::new()),
        lamports => (update.pubkey, lamports, update.owner, update.data),
    };
    last.into_values().map(shown).collect()
}

/// Kills in `npm run soak`, where `SLOTLINE_SOAK` is `full`; other runs use a few.
const ROUNDS_SOAK: u64 = 300;
const ROUNDS: u64 = 6;
/// The initial map size of the processes; it grows every other round.
const MAP_BYTES: usize = 256 << 20;
const MAP_GROWTH_BYTES: usize = 8 << 20;

fn options_of(round: u64) -> Options {
    Options {
        map_bytes: MAP_BYTES + (round as usize / 2) * MAP_GROWTH_BYTES,
        feed_ms: 16_000,
        ..options()
    }
}

/// Not a test: the writer process that the test below kills.
#[test]
fn writer() {
    let (Some(dir), Ok(round)) = (std::env::var_os(CHILD), std::env::var(ROUND)) else {
        return;
    };
    let options = options_of(round.parse().unwrap());
    let store = Store::open_writer(&PathBuf::from(dir), &options).unwrap();
    let next = store.tip().unwrap().map_or(1, |tip| tip.slot + 1);
    for slot in next.. {
        store.apply(&block(slot, updates(slot))).unwrap();
    }
}

/// Reads the tip's changes beside the writer: a part of them is never seen.
fn read_until(end: Instant, dir: &Path, options: &Options) {
    let store = Store::open_reader(dir, options).unwrap();
    while Instant::now() < end {
        let snapshot = store.snapshot().unwrap();
        let slot = snapshot.slot();
        let mut seen = 0;
        let read = snapshot.feed(slot, &mut |_| {
            seen += 1;
            Ok(())
        });
        assert!(read.unwrap(), "slot {slot}");
        assert_eq!(seen, changes(slot).len(), "slot {slot}");
    }
}

#[test]
fn a_killed_writer_leaves_a_complete_block() {
    let is_soak = std::env::var("SLOTLINE_SOAK").is_ok_and(|value| value == "full");
    let rounds = if is_soak { ROUNDS_SOAK } else { ROUNDS };
    let dir = tempfile::tempdir().unwrap();
    let (mut model, mut tip) = (Model::default(), 0);
    for round in 0..rounds {
        let options = options_of(round);
        let start = || {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "tests::crash::writer"])
                .env(CHILD, dir.path())
                .env(ROUND, round.to_string())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        // In every third round a reader stays open from before the writer's start until after its
        // end: the pages it sees must not be overwritten.
        let reader = (round % 3 == 2).then(|| Store::open_reader(dir.path(), &options).unwrap());
        let stalled = reader.as_ref().map(|reader| reader.snapshot().unwrap());
        let mut child = start();
        let killed_at =
            Instant::now() + Duration::from_millis(60 + round.wrapping_mul(7_919) % 190);
        match &reader {
            Some(_) => std::thread::sleep(killed_at.saturating_duration_since(Instant::now())),
            None if tip > 0 => read_until(killed_at, dir.path(), &options),
            None => std::thread::sleep(Duration::from_millis(60)),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if let Some(stalled) = &stalled {
            assert_eq!(stalled.slot(), tip);
            model.assert_in(stalled);
        }
        drop(stalled);
        drop(reader);
        let store = Store::open_writer(dir.path(), &options).unwrap();
        let found = store.tip().unwrap().map_or(0, |tip| tip.slot);
        assert!(found >= tip, "slot {found} after slot {tip}");
        for slot in tip + 1..=found {
            model.apply(slot, &updates(slot));
        }
        tip = found;
        assert_sound(&store);
        model.assert_in(&store.snapshot().unwrap());
        // What changed in each slot is there as well, the last one's included.
        for slot in tip.saturating_sub(SLOTS_SHOWN).max(1)..=tip {
            let found = super::history::feed(&store, slot).map(|(accounts, _)| accounts);
            assert!(
                found == Some(changes(slot)),
                "slot {slot} of {tip}: {}",
                found.is_some()
            );
        }
    }
    assert!(tip > 0);
}

/// Not a test: a process that frees the slots of readers it finds dead.
#[test]
fn inspector() {
    let Some(dir) = std::env::var_os(INSPECTOR) else {
        return;
    };
    let store = Store::open_reader(&PathBuf::from(dir), &options()).unwrap();
    assert_eq!(store.clear_stale_readers().unwrap(), 0);
}

#[test]
fn a_live_writer_is_not_treated_as_dead() {
    let temporary = super::open(&options());
    let snapshot = temporary.store.snapshot().unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::crash::inspector"])
        .env(INSPECTOR, temporary.dir.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(temporary.store.open_reads().unwrap().len(), 1);
    drop(snapshot);
    assert_eq!(temporary.store.tip().unwrap(), None);
}

#[test]
fn slots_of_dead_readers_are_cleared_and_live_readers_counted() {
    let temporary = super::open(&options());
    let store = &temporary.store;
    store.apply(&block(1, vec![])).unwrap();
    let (ready, wait) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let snapshot = store.snapshot().unwrap();
            ready.wait();
            wait.wait();
            // Three blocks later it still sees its slot.
            assert_eq!((snapshot.slot(), snapshot.block(2).unwrap()), (1, None));
        });
        ready.wait();
        for slot in 2..=4 {
            store.apply(&block(slot, vec![])).unwrap();
        }
        let stats = store.stats().unwrap();
        let reads = store.open_reads().unwrap();
        wait.wait();
        let process_id = i32::try_from(std::process::id()).unwrap();
        let transaction = store.last_commit() as u64 - 3;
        assert_eq!(reads.len(), 1);
        assert_eq!(
            (reads[0].process_id, reads[0].transaction),
            (process_id, transaction)
        );
        assert_ne!(reads[0].thread, 0);
        assert_eq!((stats.readers, stats.oldest_reader_lag), (1, 3));
    });
    let stats = store.stats().unwrap();
    assert_eq!((stats.readers, stats.oldest_reader_lag), (0, 0));
    assert!(stats.used_bytes > 0 && stats.used_bytes <= stats.file_bytes);
    assert_eq!(store.clear_stale_readers().unwrap(), 0);
}

//! Tests that a snapshot's tree stays intact while another process writes and the file grows.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{MIXED, assert_ends_at_records, key, tree_of, updates};
use crate::Store;
use crate::testing::{block, open, options};
use primitives::Pubkey;

const CHILD: &str = "SLOTLINE_TEST_BTREE_PREFETCH";
/// Accounts per block; the next block overwrites some of them.
const BLOCK_ACCOUNTS: u64 = 60;
const READ_FOR: Duration = Duration::from_millis(700);

/// Not a test: the writer process that the test below starts.
#[test]
fn writer() {
    let Some(dir) = std::env::var_os(CHILD) else {
        return;
    };
    let store = Store::open_writer(&PathBuf::from(dir), &options()).unwrap();
    let next = store.tip().unwrap().map_or(1, |tip| tip.slot + 1);
    for slot in next.. {
        let first = slot * BLOCK_ACCOUNTS / 2;
        let accounts = updates(first..first + BLOCK_ACCOUNTS, MIXED);
        store.apply(&block(slot, accounts)).unwrap();
    }
}

#[test]
fn a_walk_finds_the_same_record_as_a_read_while_another_process_writes() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open_writer(dir.path(), &options()).unwrap());
    let reader = Store::open_reader(dir.path(), &options()).unwrap();
    let pages_before = reader.env.info().last_page_number;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "btree_prefetch::tests::writing::writer"])
        .env(CHILD, dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (begun, mut found, mut slots) = (Instant::now(), 0, 0);
    while begun.elapsed() < READ_FOR || slots < 3 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the writer writes nothing"
        );
        let snapshot = reader.snapshot().unwrap();
        let slot = snapshot.slot();
        if tree_of(&snapshot).is_none() {
            continue;
        }
        slots += 1;
        let last = (slot + 3) * BLOCK_ACCOUNTS / 2;
        let keys: Vec<Pubkey> = (last.saturating_sub(400)..last).map(key).collect();
        found += assert_ends_at_records(&snapshot, &keys);
        // Reads the same snapshot again, several commits later.
        std::thread::sleep(Duration::from_millis(3));
        assert_ends_at_records(&snapshot, &keys);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found > 0 && reader.env.info().last_page_number > pages_before + 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_walk_finds_the_same_record_as_a_read_after_any_blocks(
        blocks in prop::collection::vec((0u64..600, 1u64..200, 0usize..6), 1..12),
        keys in prop::collection::vec(0u64..900, 1..60),
    ) {
        let temporary = open(&options());
        let keys: Vec<Pubkey> = keys.into_iter().map(key).collect();
        for (slot, (first, count, turn)) in (1..).zip(blocks) {
            let mut sizes = MIXED.to_vec();
            sizes.rotate_left(turn);
            let mut accounts = updates(first..first + count, &sizes);
            // An account without lamports is closed.
            accounts.iter_mut().step_by(3).for_each(|account| account.lamports = slot % 2);
            temporary.store.apply(&block(slot, accounts)).unwrap();
            let snapshot = temporary.store.snapshot().unwrap();
            if tree_of(&snapshot).is_some() {
                assert_ends_at_records(&snapshot, &keys);
            }
        }
    }
}

//! Tests of stores that are larger than memory: the reads before a commit, and readahead.

use std::path::Path;
use std::sync::atomic::Ordering;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{TOKEN_PROGRAM, account, assert_sound, block, number, open, options, token_data};
use crate::testing::naive::Model;
use crate::{AccountUpdate, Options, Store};

/// A token account of one of few mints and wallets, a plain account, or a close.
fn update() -> impl Strategy<Value = AccountUpdate> {
    (0u64..400, 0u8..6, 0u8..4, 0u64..100).prop_map(|(n, mint, wallet, amount)| match mint {
        0 => account(number(n), 0, [7; 32], &[]),
        1 => account(number(n), 5, [7; 32], &amount.to_le_bytes()),
        // Longer than a page.
        2 => account(number(n), 5, [8; 32], &vec![wallet; 9_000]),
        _ => {
            let data = token_data(&[mint; 32], &[wallet; 32], amount, 1);
            account(number(n), 1, TOKEN_PROGRAM, &data)
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn blocks_that_are_read_before_are_applied_as_others(
        blocks in vec(vec(update(), 0..150), 1..8),
    ) {
        let temporary = open(&options());
        let store = &temporary.store;
        let mut model = Model::default();
        for (slot, updates) in (1..).zip(blocks) {
            store.is_cold.store(true, Ordering::Relaxed);
            let count = updates.len();
            store.apply(&block(slot, updates.clone())).unwrap();
            model.apply(slot, &updates);
            assert_sound(store);
            // All of it is in memory, so the next commit is not read before.
            prop_assert!(count == 0 || !store.is_cold.load(Ordering::Relaxed));
        }
        model.assert_in(&store.snapshot().unwrap());
    }
}

/// Whether the system reads only the pages of this store that are touched, as of its own list.
fn is_read_page_by_page(dir: &Path) -> bool {
    let file = dir.join("data.mdb").canonicalize().unwrap();
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let after = maps.split(file.to_str().unwrap()).nth(1).unwrap();
    let flags = after.lines().find(|line| line.starts_with("VmFlags:"));
    flags.unwrap().split(' ').any(|flag| flag == "rr")
}

#[test]
fn readahead_is_off_where_the_store_exceeds_half_of_memory() {
    let dir = tempfile::tempdir().unwrap();
    let accounts = (0..200).map(|n| account(number(n), 5, [7; 32], &[1; 4_000]));
    let store = Store::open_writer(dir.path(), &options()).unwrap();
    store.apply(&block(1, accounts.collect())).unwrap();
    assert!(!is_read_page_by_page(dir.path()));
    drop(store);
    let bytes = std::fs::metadata(dir.path().join("data.mdb"))
        .unwrap()
        .len();
    for (memory_bytes, expected) in [(None, false), (Some(2 * bytes), false), (Some(bytes), true)] {
        let options = Options {
            memory_bytes,
            ..options()
        };
        for open in [Store::open_reader, Store::open_writer] {
            let store = open(dir.path(), &options).unwrap();
            assert_eq!(
                is_read_page_by_page(dir.path()),
                expected,
                "{memory_bytes:?}"
            );
            drop(store);
        }
    }
}

//! Copies the store while blocks are applied as fast as the writer can.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use store::{Options, Store};

use crate::apply::block_after;
use crate::data::Set;
use crate::{machine, report};

/// Blocks before the copy, until free pages suffice for a commit.
const BLOCKS_BEFORE: u64 = 10;

/// Reports what a copy takes beside blocks of so many updates, and by how much the store's file
/// grows meanwhile.
pub fn run(
    store: &Store,
    store_dir: &Path,
    set: &Set,
    name: &str,
    updates: u64,
    pick: &impl Fn(u64) -> u64,
) {
    let apply = || {
        let tip = store.tip().expect("a store").expect("a tip");
        let block = block_after(&mut (tip.slot, tip.blockhash), set, updates, pick);
        let begun = Instant::now();
        store
            .apply(&block)
            .expect("a block that continues the chain");
        begun.elapsed()
    };
    let busy: f64 = (0..BLOCKS_BEFORE).map(|_| apply().as_secs_f64()).sum();
    let alone = (BLOCKS_BEFORE * updates) as f64 / busy;
    report(
        &format!("{name}: updates before"),
        alone,
        "updates/s",
        "higher",
        None,
    );

    let dir = store_dir.with_file_name("copy");
    std::fs::create_dir(&dir).expect("a new folder");
    let before = machine::file_bytes(store_dir);
    let (is_copied, begun) = (AtomicBool::new(false), Instant::now());
    let (applied, busy, took) = thread::scope(|scope| {
        let copying = scope.spawn(|| {
            let copied = store.copy_to(&dir);
            is_copied.store(true, Ordering::Relaxed);
            copied.map(|()| begun.elapsed().as_secs_f64())
        });
        let (mut applied, mut busy) = (0, 0.0);
        while !is_copied.load(Ordering::Relaxed) {
            busy += apply().as_secs_f64();
            applied += updates;
        }
        (
            applied,
            busy,
            copying.join().expect("no panic").expect("a copy"),
        )
    });
    let grown = 100.0 * (machine::file_bytes(store_dir) - before) as f64 / before as f64;
    let rate = applied as f64 / busy;
    report(
        &format!("{name}: updates beside"),
        rate,
        "updates/s",
        "higher",
        None,
    );
    report(&format!("{name}: copy"), took, "s", "lower", None);
    // Of a smaller store one commit writes more than that.
    let target = (set.accounts() >= 1_000_000).then_some(5.0);
    report(&format!("{name}: growth"), grown, "%", "lower", target);
    let size = 100.0 * machine::file_bytes(&dir) as f64 / before as f64;
    report(
        &format!("{name}: file of the copy"),
        size,
        "% of the store's",
        "lower",
        None,
    );
    check(&dir, store.options(), set);
    std::fs::remove_dir_all(&dir).expect("the copy");
}

/// Every index of the copy agrees with its accounts.
fn check(dir: &Path, options: &Options, set: &Set) {
    let copy = Store::open_writer(dir, options).expect("a store");
    let entries = copy.stats().expect("statistics").entries;
    assert!(
        entries.contains(&("accounts", set.accounts())),
        "{entries:?}"
    );
    if set.accounts() <= 1_100_000 {
        let differences = copy.check().expect("a store that can be read");
        assert_eq!(differences, Vec::<String>::new());
    }
}

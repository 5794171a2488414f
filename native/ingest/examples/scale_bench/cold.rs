//! Applies blocks to a store that is several times larger than the memory of this process, as the
//! indexer of a large chain does. Who starts it bounds the memory, by a control group.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use store::Store;

use crate::apply::block_after;
use crate::data::Set;
use crate::seeded::mix;
use crate::{copy, machine, report};

/// 10,000 a second in slots of 200 ms.
const BLOCK_UPDATES: u64 = 2_000;
/// Five seconds of blocks: what one commit of them saves of the bytes.
const GROUP: u64 = 25;
/// Of each spread of updates: until memory has what is written often, and measured.
const WARM: Duration = Duration::from_secs(10);
const MEASURED: Duration = Duration::from_secs(30);
const DEVICE_READS: Duration = Duration::from_secs(2);
const PAGE: usize = 4_096;

/// The ranks of what is written have uniform logarithms: Zipf's law with the exponent 1.
fn zipf(tokens: u64) -> impl Fn(u64) -> u64 {
    let ranks = (tokens as f64).ln();
    move |n: u64| {
        let part = mix(n) as f64 / u64::MAX as f64;
        mix((part * ranks).exp() as u64 ^ 0x21FF) % tokens
    }
}

/// Runs every spread of updates, for a tenth of the time if the store is small, and copies it.
pub fn run(store: &Store, store_dir: &Path, set: &Set) {
    let tokens = set.tokens;
    let uniform = |n: u64| mix(n) % tokens;
    let scale = if set.accounts() < 2_000_000 { 0.1 } else { 1.0 };
    let times = (WARM.mul_f64(scale), MEASURED.mul_f64(scale));
    run_spread(store, set, ("cold, Zipf", 1), times, zipf(tokens));
    run_spread(store, set, ("cold, uniform", 1), times, uniform);
    let name = format!("cold, Zipf, {GROUP} to a commit");
    run_spread(store, set, (&name, GROUP), times, zipf(tokens));
    let name = format!("cold, uniform, {GROUP} to a commit");
    run_spread(store, set, (&name, GROUP), times, uniform);
    copy(store, store_dir, set);
}

/// Copies the store beside updates.
pub fn copy(store: &Store, store_dir: &Path, set: &Set) {
    let name = "cold, copy beside blocks, Zipf";
    copy::run(
        store,
        store_dir,
        set,
        name,
        BLOCK_UPDATES,
        &zipf(set.tokens),
    );
}

/// Commits `group` blocks at once.
fn run_spread(
    store: &Store,
    set: &Set,
    (name, group): (&str, u64),
    (warm, measured): (Duration, Duration),
    pick: impl Fn(u64) -> u64,
) {
    let commit = || {
        let tip = store.tip().expect("a store").expect("a tip");
        let mut last = (tip.slot, tip.blockhash);
        let blocks: Vec<_> = (0..group)
            .map(|_| block_after(&mut last, set, BLOCK_UPDATES, &pick))
            .collect();
        let begun = Instant::now();
        store
            .apply_all(&blocks)
            .expect("blocks that continue the chain");
        begun.elapsed()
    };
    let begun = Instant::now();
    while begun.elapsed() < warm {
        commit();
    }
    let (faults, written) = (machine::usage().major_faults, machine::written_bytes());
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed() < measured {
        times.push(commit());
    }
    let updates = (times.len() as u64 * group * BLOCK_UPDATES) as f64;
    let spent: Duration = times.iter().sum();
    let rate = updates / spent.as_secs_f64();
    report(name, rate, "updates/s", "higher", None);
    times.sort_unstable();
    for (quantile, share) in [("p50", 0.5), ("p99", 0.99)] {
        let at = ((times.len() as f64 * share) as usize).min(times.len() - 1);
        let ms = times[at].as_secs_f64() * 1e3;
        report(
            &format!("{name}: commit {quantile}"),
            ms,
            "ms",
            "lower",
            None,
        );
    }
    let faults = (machine::usage().major_faults - faults) as f64 / updates;
    report(
        &format!("{name}: page faults"),
        faults,
        "an update",
        "lower",
        None,
    );
    let bytes = (machine::written_bytes() - written) as f64 / updates;
    report(
        &format!("{name}: written"),
        bytes,
        "bytes/update",
        "lower",
        None,
    );
}

/// What the disk gives: reads of random pages of the store's file past the page cache, one after
/// the other and 32 at once.
pub fn measure_disk(store_dir: &Path) {
    let pages = machine::file_bytes(store_dir) / PAGE as u64;
    for threads in [1, 32] {
        let begun = Instant::now();
        let read: u64 = thread::scope(|scope| {
            let threads: Vec<_> = (0..threads)
                .map(|nth| scope.spawn(move || read_pages(store_dir, pages, nth << 32)))
                .collect();
            let counts = threads.into_iter().map(|thread| thread.join());
            counts.map(|count| count.expect("reads")).sum()
        });
        let rate = read as f64 / begun.elapsed().as_secs_f64();
        let name = format!("disk: random pages, {threads} at once");
        report(&name, rate, "pages/s", "higher", None);
    }
}

#[repr(align(4096))]
struct Page([u8; PAGE]);

fn read_pages(store_dir: &Path, pages: u64, first: u64) -> u64 {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECT)
        .open(store_dir.join("data.mdb"))
        .expect("the store's file");
    let mut page = Page([0; PAGE]);
    let (begun, mut count) = (Instant::now(), 0);
    while begun.elapsed() < DEVICE_READS {
        let at = (mix(first + count) % pages) as i64 * PAGE as i64;
        // SAFETY: the buffer has PAGE bytes, and outlives the call.
        let read = unsafe { libc::pread(file.as_raw_fd(), page.0.as_mut_ptr().cast(), PAGE, at) };
        assert_eq!(read, PAGE as isize, "a page");
        count += 1;
    }
    count
}

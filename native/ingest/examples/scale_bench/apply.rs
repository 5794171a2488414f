//! Applies blocks of token balances to the loaded store, with every index on and each commit
//! durable.

use std::path::Path;
use std::time::{Duration, Instant};

use store::{Block, Store};

use crate::data::{Set, key};
use crate::seeded::mix;
use crate::{copy, machine, report};

const BLOCK_UPDATES: u64 = 5_000;
const COMMITS: u64 = 24;

/// Nine updates of ten change 20,000 accounts: a chain's writes per second do not grow with its
/// size.
fn skewed(set: &Set) -> impl Fn(u64) -> u64 {
    let (all, hot) = (set.tokens, set.tokens.min(20_000));
    move |n| mix(n) % if n.is_multiple_of(10) { all } else { hot }
}

pub fn apply(store: &Store, store_dir: &Path, set: &Set) {
    let anywhere = |n: u64| mix(n) % set.tokens;
    let skewed = skewed(set);
    run(store, set, "apply, uniform", 1, anywhere, None);
    run(store, set, "apply, as blocks do", 1, &skewed, None);
    // As the indexer does when it is behind.
    run(
        store,
        set,
        "apply, as blocks do, 64 to a commit",
        64,
        &skewed,
        Some(100_000.0),
    );
    let name = "copy beside blocks, uniform";
    copy::run(store, store_dir, set, name, BLOCK_UPDATES, &anywhere);
    let name = "copy beside blocks, as blocks do";
    copy::run(store, store_dir, set, name, BLOCK_UPDATES, &skewed);
}

fn run(
    store: &Store,
    set: &Set,
    name: &str,
    group: u64,
    pick: impl Fn(u64) -> u64,
    target: Option<f64>,
) {
    let (mut spent, mut slowest, mut updates) = (Duration::ZERO, Duration::ZERO, 0);
    let mut busy = Duration::ZERO;
    for _ in 0..COMMITS / group.min(6) {
        let tip = store.tip().expect("a store").expect("a tip");
        let mut last = (tip.slot, tip.blockhash);
        let blocks: Vec<Block> = (0..group)
            .map(|_| block_after(&mut last, set, BLOCK_UPDATES, &pick))
            .collect();
        let (begun, before) = (Instant::now(), machine::usage());
        let applied = store
            .apply_all(&blocks)
            .expect("blocks that continue the chain");
        let took = begun.elapsed();
        busy += machine::usage().busy - before.busy;
        spent += took;
        slowest = slowest.max(took);
        updates += applied.accounts;
    }
    let rate = updates as f64 / spent.as_secs_f64();
    report(name, rate, "updates/s", "higher", target);
    let micros = busy.as_secs_f64() * 1e6 / updates as f64;
    report(
        &format!("{name}: processor"),
        micros,
        "µs/update",
        "lower",
        None,
    );
    let slowest = slowest.as_secs_f64() * 1e3;
    report(
        &format!("{name}: slowest commit"),
        slowest,
        "ms",
        "lower",
        None,
    );
}

/// The block that follows the `last` one, with changed balances of the accounts that `pick` names.
pub fn block_after(
    last: &mut (u64, [u8; 32]),
    set: &Set,
    updates: u64,
    pick: &impl Fn(u64) -> u64,
) -> Block {
    let (parent_slot, parent_blockhash) = *last;
    let slot = parent_slot + 1;
    let accounts = (0..updates)
        .map(|n| (slot << 24) + n)
        .map(|n| set.token(pick(mix(n)), n ^ 99))
        .collect();
    *last = (slot, key(5, slot));
    Block {
        slot,
        parent_slot,
        blockhash: last.1,
        parent_blockhash,
        block_height: slot,
        accounts,
        ..Block::default()
    }
}

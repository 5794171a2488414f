//! Measures the commits of blocks in which an authority empties the hundred largest accounts of a
//! mint with two million holders, slot after slot, and what a reader finds meanwhile. Fails if an
//! answer is wrong or a commit takes over 20 ms of processor time.
//! `cargo run --release -p store --example emptied_holders -- [holders] [slots] [folder]`

use std::path::Path;
use std::time::{Duration, Instant};

use fixtures::seeded::{self, mix};
use primitives::Pubkey;
use primitives::token::{TOKEN_PROGRAM, TokenProgram};
use store::{AccountUpdate, Block, Budget, Options, Store};

const SEED: u64 = 0xE3;
const MINT: Pubkey = [7; 32];
/// Accounts that each slot empties.
const EMPTIED: usize = 100;
/// A slot of the chain.
const SLOT: Duration = Duration::from_millis(200);
/// The slices in which the indexer works between commits.
const SLICE: Duration = Duration::from_millis(10);
/// Updates of a large block of a chain.
const BLOCK_UPDATES: usize = 5_000;
const COMMIT_MAX: Duration = Duration::from_millis(20);

fn token_account(n: u64, amount: u64) -> AccountUpdate {
    let mut data = vec![0; 165];
    data[0..32].copy_from_slice(&MINT);
    data[32..64].copy_from_slice(&seeded::key(SEED, 2, n));
    data[64..72].copy_from_slice(&amount.to_le_bytes());
    data[108] = 1;
    update(seeded::key(SEED, 1, n), TOKEN_PROGRAM, data)
}

fn update(pubkey: Pubkey, owner: Pubkey, data: Vec<u8>) -> AccountUpdate {
    AccountUpdate {
        is_signed: false,
        pubkey,
        lamports: 2_039_280,
        rent_epoch: u64::MAX,
        executable: false,
        owner,
        data,
    }
}

fn apply(store: &Store, accounts: Vec<AccountUpdate>) {
    let tip = store.tip().expect("a tip");
    let (parent_slot, parent_blockhash) = tip.map_or((0, [0; 32]), |tip| (tip.slot, tip.blockhash));
    let slot = parent_slot + 1;
    let block = Block {
        slot,
        parent_slot,
        parent_blockhash,
        blockhash: seeded::key(SEED, 3, slot),
        block_height: slot,
        accounts,
        ..Block::default()
    };
    store.apply(&block).expect("a block");
}

/// Processor time of this thread, which other load on the machine affects little.
fn cpu() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: clock_gettime writes only to the local passed to it.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The balances in descending order.
fn load(store: &Store, holders: u64) -> Vec<(u64, Pubkey, u64)> {
    let balance = |n: u64| 1 + mix(n) % 1_000_000_000_000;
    for first in (0..holders).step_by(50_000) {
        let end = (first + 50_000).min(holders);
        apply(
            store,
            (first..end).map(|n| token_account(n, balance(n))).collect(),
        );
    }
    // The log of changes then has slots of the size that a chain has.
    for first in (0..50_000).step_by(BLOCK_UPDATES) {
        let written = first..first + BLOCK_UPDATES as u64;
        let updates = written.map(|n| token_account(n % holders, balance(n % holders)));
        apply(store, updates.collect());
    }
    let key = |n| seeded::key(SEED, 1, n);
    let mut sorted: Vec<_> = (0..holders).map(|n| (balance(n), key(n), n)).collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    sorted
}

/// Checks what a reader finds; whether the row tells it.
fn check(store: &Store, expected: &[(u64, Pubkey, u64)]) -> bool {
    let snapshot = store.snapshot().expect("a snapshot");
    let known = snapshot
        .holders(TokenProgram::Token, &MINT, 20)
        .expect("a row");
    let is_known = known.is_some();
    let found = known.unwrap_or_else(|| {
        let mut budget = Budget::until(Instant::now() + Duration::from_secs(600));
        let scanned = snapshot.scan_holders(TokenProgram::Token, &MINT, 20, &mut budget);
        scanned.expect("a scan")
    });
    let expected: Vec<_> = expected[..20]
        .iter()
        .map(|(amount, key, _)| (*amount, *key))
        .collect();
    assert!(found == expected, "slot {}: wrong holders", snapshot.slot());
    is_known
}

#[derive(Default)]
struct Figures {
    wall: Vec<Duration>,
    cpu: Vec<Duration>,
    longest_slice: Duration,
    short: u64,
}

fn slots(store: &Store, sorted: &[(u64, Pubkey, u64)], slots: u64) -> Figures {
    let mut figures = Figures::default();
    for (slot, emptied) in (0..slots).zip(sorted.chunks(EMPTIED)) {
        let accounts = emptied
            .iter()
            .map(|(_, _, n)| token_account(*n, 0))
            .collect();
        let (start, cpu_start) = (Instant::now(), cpu());
        apply(store, accounts);
        figures.cpu.push(cpu() - cpu_start);
        figures.wall.push(start.elapsed());
        let rest = &sorted[(slot as usize + 1) * EMPTIED..];
        figures.short += u64::from(!check(store, rest));
        // The rest of the slot, without what the check took.
        let idle = SLOT.saturating_sub(*figures.wall.last().expect("a time"));
        let until = Instant::now() + idle;
        while Instant::now() < until {
            let cpu_start = cpu();
            let has_more = store
                .refill_holders(Instant::now() + SLICE)
                .expect("a slice");
            figures.longest_slice = figures.longest_slice.max(cpu() - cpu_start);
            if !has_more {
                break;
            }
        }
    }
    figures
}

fn main() {
    let mut args = std::env::args().skip(1);
    let holders = args
        .next()
        .map_or(2_000_000, |text| text.parse().expect("holders"));
    let count = args.next().map_or(50, |text| text.parse().expect("slots"));
    let temporary = tempfile::tempdir().expect("a folder");
    let dir = args.next().map_or(temporary.path().to_path_buf(), |dir| {
        Path::new(&dir).join("store")
    });
    let options = Options {
        map_bytes: 64 << 30,
        ..Options::default()
    };
    let store = Store::open_writer(&dir, &options).expect("a store");
    let sorted = load(&store, holders);
    assert!(check(&store, &sorted));
    let Figures {
        mut wall,
        mut cpu,
        longest_slice,
        short,
    } = slots(&store, &sorted, count);
    wall.sort();
    cpu.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let (middle, last) = (wall.len() / 2, wall.len() - 1);
    println!(
        "{holders} holders, the largest {EMPTIED} emptied in each of {count} slots: \
         commit p50 {:.1} ms, max {:.1} ms; processor p50 {:.1} ms, max {:.1} ms; longest \
         slice between commits {:.1} ms; row short after {short} commits",
        ms(wall[middle]),
        ms(wall[last]),
        ms(cpu[middle]),
        ms(cpu[last]),
        ms(longest_slice)
    );
    assert!(
        cpu[last] <= COMMIT_MAX,
        "a commit took {:.1} ms of processor time",
        ms(cpu[last])
    );
}

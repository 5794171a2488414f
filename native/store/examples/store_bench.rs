//! Measures how fast the store applies blocks, scans and pages, on accounts generated from a seed.
//! Checks answers before it measures. `cargo run --release -p store --example store_bench --
//! [accounts] [folder] [apply]`: with `apply`, only applying is measured.
//!
//! Work of one update that changes a token balance, with all indexes on: one look-up and one
//! overwrite in `accounts`, a delete and a put in `holders` and in `changed`, and about 260 bytes
//! appended to `feed`. One commit per block, with LMDB's two syncs.

#![allow(clippy::too_many_lines, reason = "a list of measurements")]

use fixtures::seeded;

use std::path::Path;
use std::time::{Duration, Instant};

use primitives::Pubkey;
use primitives::token::{TOKEN_PROGRAM, TokenProgram};
use seeded::mix;
use store::{
    AccountUpdate, Block, Budget, Filter, Options, OwnerFilter, OwnerQuery, ProgramQuery, Store,
};

const SEED: u64 = 0x5107;
const MINTS: u64 = 1_000;
const BLOCK_UPDATES: u64 = 5_000;
const PLAIN_PROGRAM: Pubkey = [9; 32];

fn key(kind: u64, i: u64) -> Pubkey {
    seeded::key(SEED, kind, i)
}

fn mint_of(i: u64) -> Pubkey {
    key(1, mix(i) % MINTS)
}

fn wallet_of(i: u64) -> Pubkey {
    // One account in 64 belongs to one large wallet.
    key(
        2,
        if i.is_multiple_of(64) {
            0
        } else {
            mix(i) % 250_000
        },
    )
}

fn token_account(i: u64, amount: u64) -> AccountUpdate {
    let mut data = vec![0; 165];
    data[0..32].copy_from_slice(&mint_of(i));
    data[32..64].copy_from_slice(&wallet_of(i));
    data[64..72].copy_from_slice(&amount.to_le_bytes());
    data[108] = 1;
    update(key(3, i), TOKEN_PROGRAM, data)
}

fn plain_account(i: u64) -> AccountUpdate {
    let mut data = vec![0; 128];
    data[0..8].copy_from_slice(&(i % 4).to_le_bytes());
    update(key(4, i), PLAIN_PROGRAM, data)
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

fn block_after(
    (parent_slot, parent_blockhash): (u64, [u8; 32]),
    accounts: Vec<AccountUpdate>,
) -> Block {
    let slot = parent_slot + 1;
    Block {
        slot,
        parent_slot,
        blockhash: key(5, slot),
        parent_blockhash,
        block_height: slot,
        accounts,
        ..Block::default()
    }
}

fn load(store: &Store, accounts: u64) {
    let (start, mut last) = (Instant::now(), (0, [0; 32]));
    let all = (0..accounts).map(|i| token_account(i, mix(i ^ 77) % 1_000_000_000));
    let mut all = all.chain((0..accounts / 10).map(plain_account)).peekable();
    while all.peek().is_some() {
        let block = block_after(last, all.by_ref().take(50_000).collect());
        last = (block.slot, block.blockhash);
        store.apply(&block).unwrap();
    }
    println!(
        "load: {:.0} accounts/s",
        (accounts * 11 / 10) as f64 / start.elapsed().as_secs_f64()
    );
}

/// Applies blocks of token balances, `group` per commit, and returns updates per second; generating
/// the blocks is not measured.
fn apply(store: &Store, name: &str, groups: u64, group: u64, pick: impl Fn(u64) -> u64) {
    let (mut spent, mut slowest, mut updates) = (Duration::ZERO, Duration::ZERO, 0);
    let mut busy = Duration::ZERO;
    let tip = store.tip().unwrap().unwrap();
    let mut last = (tip.slot, tip.blockhash);
    for _ in 0..groups {
        let mut blocks = Vec::new();
        for _ in 0..group {
            let ids = (0..BLOCK_UPDATES).map(|n| (last.0 << 24) + n);
            let accounts = ids
                .map(|n| token_account(pick(mix(n)), mix(n ^ 99) % 1_000_000_000))
                .collect();
            let block = block_after(last, accounts);
            last = (block.slot, block.blockhash);
            blocks.push(block);
        }
        let (start, cpu_start) = (Instant::now(), cpu());
        let applied = store.apply_all(&blocks).unwrap();
        let took = start.elapsed();
        busy += cpu() - cpu_start;
        spent += took;
        slowest = slowest.max(took);
        updates += applied.accounts;
    }
    println!(
        "apply {name}, {group} to a commit: {:.0} updates/s, {:.1} ms a commit of {}, slowest {:.1} \
         ms, processor {:.2} µs an update",
        updates as f64 / spent.as_secs_f64(),
        spent.as_secs_f64() * 1e3 / groups as f64,
        updates / groups,
        slowest.as_secs_f64() * 1e3,
        busy.as_secs_f64() * 1e6 / updates as f64
    );
}

/// Processor time of this process, which other load on the machine affects little.
fn cpu() -> Duration {
    // SAFETY: rusage consists of integers, for which zero is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: getrusage writes only to the local passed to it.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1_000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Runs a page and returns (rows returned, rows read, best time of five runs).
fn page(store: &Store, query: &ProgramQuery) -> (usize, u64, Duration) {
    let snapshot = store.snapshot().unwrap();
    let mut best = (0, 0, Duration::MAX);
    for _ in 0..5 {
        let start = Instant::now();
        let mut budget = Budget::until(start + Duration::from_secs(60));
        let mut bytes = 0;
        let end = snapshot.program_page(query, &mut budget, &mut |_, account| {
            bytes += account.data.len();
            Ok(())
        });
        let took = start.elapsed();
        assert!(bytes > 0 || end.as_ref().is_ok_and(|end| end.count == 0));
        best = (end.unwrap().count, budget.scanned(), best.2.min(took));
    }
    best
}

fn query(
    program: Pubkey,
    filters: Vec<Filter>,
    limit: usize,
    changed_since: Option<u64>,
) -> ProgramQuery {
    ProgramQuery {
        program,
        filters,
        limit,
        after: None,
        changed_since,
    }
}

fn memcmp(offset: u64, bytes: &[u8]) -> Filter {
    Filter::Memcmp {
        offset,
        bytes: bytes.to_vec(),
    }
}

fn scans(store: &Store, accounts: u64) {
    let slot = store.tip().unwrap().unwrap().slot;
    let mint = mint_of(1);
    let of_mint = (0..accounts).filter(|i| mint_of(*i) == mint).count();
    let of_wallet = (0..accounts).filter(|i| wallet_of(*i) == key(2, 0)).count();
    let impossible = memcmp(108, &[9]);
    let cases = [
        (
            "reject dataSize, token",
            query(TOKEN_PROGRAM, vec![Filter::DataSize(1)], 10_000, None),
            Some(0),
        ),
        (
            "reject memcmp, token",
            query(TOKEN_PROGRAM, vec![impossible], 10_000, None),
            Some(0),
        ),
        (
            "reject dataSize, plain",
            query(PLAIN_PROGRAM, vec![Filter::DataSize(1)], 10_000, None),
            Some(0),
        ),
        (
            "page 1,000, token",
            query(TOKEN_PROGRAM, vec![], 1_000, None),
            Some(1_000),
        ),
        (
            "page 10,000, token",
            query(TOKEN_PROGRAM, vec![], 10_000, None),
            Some(10_000),
        ),
        (
            "page 10,000, plain",
            query(PLAIN_PROGRAM, vec![], 10_000, None),
            Some(10_000),
        ),
        (
            "mint",
            query(TOKEN_PROGRAM, vec![memcmp(0, &mint)], 10_000, None),
            Some(of_mint),
        ),
        (
            "wallet and mint",
            query(
                TOKEN_PROGRAM,
                vec![memcmp(0, &mint), memcmp(32, &key(2, 0))],
                10_000,
                None,
            ),
            None,
        ),
        (
            "large wallet",
            query(TOKEN_PROGRAM, vec![memcmp(32, &key(2, 0))], 100_000, None),
            Some(of_wallet),
        ),
        (
            "discriminator",
            query(
                PLAIN_PROGRAM,
                vec![memcmp(0, &1u64.to_le_bytes())],
                100_000,
                None,
            ),
            Some((accounts / 10) as usize / 4),
        ),
        (
            "changed in 2 slots",
            query(TOKEN_PROGRAM, vec![], 10_000, Some(slot - 2)),
            None,
        ),
        (
            "changed in 40 slots",
            query(TOKEN_PROGRAM, vec![], 10_000, Some(slot - 40)),
            Some(10_000),
        ),
    ];
    for (name, query, expected) in cases {
        let plan = store.snapshot().unwrap().plan(&query).unwrap();
        let plan = format!("{plan:?}");
        let plan = plan.split(['(', ' ']).next().unwrap_or_default();
        let (count, scanned, took) = page(store, &query);
        assert!(
            expected.is_none_or(|expected| expected == count),
            "{name}: {count}"
        );
        let per_row = took.as_secs_f64() * 1e6 / scanned.max(1) as f64;
        let ms = took.as_secs_f64() * 1e3;
        println!(
            "scan {name} [{plan}]: {count} rows, {scanned} examined, {ms:.3} ms, {per_row:.3} µs \
             a row"
        );
    }
}

fn point_reads(store: &Store, accounts: u64) {
    let keys: Vec<Pubkey> = (0..200_000).map(|n| key(3, mix(n) % accounts)).collect();
    let start = Instant::now();
    for chunk in keys.chunks(1) {
        let snapshot = store.snapshot().unwrap();
        assert!(snapshot.account(&chunk[0]).unwrap().is_some());
    }
    println!(
        "account, own snapshot each: {:.2} µs",
        start.elapsed().as_secs_f64() * 1e6 / 200_000.0
    );
    let snapshot = store.snapshot().unwrap();
    let start = Instant::now();
    let found = keys
        .iter()
        .filter(|key| snapshot.account(key).unwrap().is_some())
        .count();
    assert_eq!(found, keys.len());
    println!(
        "account, one snapshot: {:.2} µs",
        start.elapsed().as_secs_f64() * 1e6 / 200_000.0
    );
    let owner = OwnerQuery {
        wallet: key(2, 0),
        filter: OwnerFilter::Program(TokenProgram::Token),
        limit: 10_000,
        after: None,
    };
    let start = Instant::now();
    let mut budget = Budget::until(start + Duration::from_secs(60));
    let end = snapshot
        .owner_page(&owner, &mut budget, &mut |_, _| Ok(()))
        .unwrap();
    println!(
        "owner page of {}: {:.2} ms",
        end.count,
        start.elapsed().as_secs_f64() * 1e3
    );
    drop(snapshot);
}

fn main() {
    let mut args = std::env::args().skip(1);
    let accounts = args.next().map_or(1_000_000, |text| {
        text.parse().expect("a number of accounts")
    });
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let dir = args.next().map_or(temporary.path().to_path_buf(), |text| {
        Path::new(&text).to_path_buf()
    });
    let store = Store::open_writer(&dir, &Options::default()).expect("a store");
    if store.tip().unwrap().is_none() {
        load(&store, accounts);
    }
    let uniform = |n: u64| n % accounts;
    // Nine of ten updates use one account in fifty: still much less concentrated than a real block.
    let skewed = |n: u64| {
        if n.is_multiple_of(10) {
            mix(n) % accounts
        } else {
            mix(n) % (accounts / 50)
        }
    };
    for (groups, group) in [(32, 1), (8, 4), (4, 16), (3, 32)] {
        apply(&store, "uniform", groups, group, uniform);
        apply(&store, "skewed", groups, group, skewed);
    }
    if args.next().is_some_and(|word| word == "apply") {
        return;
    }
    scans(&store, accounts);
    point_reads(&store, accounts);
    let start = Instant::now();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    println!("check: {:.1} s", start.elapsed().as_secs_f64());
    println!("{:?}", store.stats().unwrap());
}

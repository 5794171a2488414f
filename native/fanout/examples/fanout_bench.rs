//! Measures a pass of the fan-out. `cargo run --release -p fanout --example fanout_bench`
//!
//! Estimate: a changed account of 165 bytes costs one read from `feed`, one look-up of its address
//! and 450 bytes of JSON: 0.5 µs, so 0.5 ms for 1,000 accounts. A change in a program with 10,000
//! filters of one shape costs two look-ups, and a comparison and a frame for each match. Each case
//! checks its number of frames before it is timed.

use std::sync::Arc;
use std::time::Instant;

use fanout::{Fanout, FanoutOptions, Interest};
use primitives::Pubkey;
use store::{AccountUpdate, Block, Filter, Options, Store};
use wire::account_json::{Encoding, View};

const PROGRAM: Pubkey = [9; 32];
const ROUNDS: u64 = 20;

fn key(n: u64) -> Pubkey {
    let mut key = [7; 32];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    key
}

fn hash(slot: u64) -> [u8; 32] {
    let mut hash = [7; 32];
    hash[..8].copy_from_slice(&slot.to_be_bytes());
    hash
}

/// A slot that changes `changes` token-sized accounts. Bytes 32 to 64 of each are its key.
fn block(slot: u64, changes: u64) -> Block {
    let accounts = (0..changes).map(|n| {
        let mut data = vec![slot as u8; 165];
        data[32..64].copy_from_slice(&key(n));
        AccountUpdate {
            is_signed: false,
            pubkey: key(n),
            lamports: 2_039_280,
            rent_epoch: u64::MAX,
            executable: false,
            owner: PROGRAM,
            data,
        }
    });
    Block {
        slot,
        parent_slot: slot - 1,
        blockhash: hash(slot),
        parent_blockhash: hash(slot - 1),
        block_height: slot,
        accounts: accounts.collect(),
        ..Block::default()
    }
}

fn run(name: &str, changes: u64, frames: usize, interests: impl Iterator<Item = Interest>) {
    let dir = tempfile::tempdir().expect("a folder");
    let options = Options {
        map_bytes: 4 << 30,
        disk_reserve_bytes: 0,
        ..Options::default()
    };
    let store = Store::open_writer(dir.path(), &options).expect("a store");
    store.apply(&block(1, changes)).expect("a block");
    let fanout = Fanout::new(FanoutOptions {
        subscriptions_max: 1_000_000,
        chunk_bytes_max: 64 << 20,
    });
    for (id, interest) in (1..).zip(interests) {
        fanout.add(id, interest).expect("a subscription");
    }
    fanout.pass(&store).expect("the first pass");
    let mut times = Vec::new();
    let mut bytes = 0;
    for round in 0..ROUNDS {
        store.apply(&block(round + 2, changes)).expect("a block");
        let begun = Instant::now();
        let pass = fanout.pass(&store).expect("a pass");
        times.push(begun.elapsed().as_micros());
        assert_eq!(
            (pass.index.len() / 3, pass.is_lost),
            (frames, false),
            "{name}"
        );
        bytes = pass.frames.len();
    }
    times.sort_unstable();
    let stats = fanout.stats();
    println!(
        "{name}: median {} µs, longest {} µs; {frames} frames, {bytes} bytes, {} comparisons a pass",
        times[times.len() / 2],
        times[times.len() - 1],
        stats.comparisons / ROUNDS,
    );
}

fn main() {
    let view = View {
        encoding: Encoding::Base64,
        slice: None,
    };
    let accounts = (0..1_000).map(|n| Interest::Account {
        pubkey: key(n),
        view,
    });
    run(
        "1,000 changed accounts, each subscribed",
        1_000,
        1_000,
        accounts,
    );
    let programs = |of: u64| {
        (0..10_000).map(move |n| Interest::Program {
            program: PROGRAM,
            filters: Arc::from([Filter::Memcmp {
                offset: 32,
                bytes: key(n + of).to_vec(),
            }]),
            view,
        })
    };
    let name = "5,000 changes, 10,000 filters on one program";
    run(&format!("{name}, all hit"), 5_000, 5_000, programs(0));
    run(&format!("{name}, none hit"), 5_000, 0, programs(1_000_000));
}

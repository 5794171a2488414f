//! Measures account updates per second through the reader, without a store. A synthetic feed of
//! 165-byte accounts runs three times: through the buffer alone, with decoding before it, and over
//! a gRPC socket whose server is in this process and shares its cores.
//!
//! cargo run --release -p ingest --example geyser_throughput [blocks] [accounts per block]

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ingest::geyser::{
    BlockAssembler, BlockSink, BufferLimits, Event, GeyserConfig, Message, Taken, start, translate,
};
use store::{Block, Tip};
use sys::error::Result;
use yellowstone_grpc_proto::geyser::{SlotStatus, SubscribeUpdate};
use yellowstone_grpc_proto::prost::Message as _;

use server::{FeedServer, Step};

#[allow(dead_code)]
#[path = "../tests/geyser_reader/chain.rs"]
mod chain;
#[allow(dead_code)]
#[path = "../tests/geyser_reader/server.rs"]
mod server;

const FIRST_SLOT: u64 = 11;
const DATA_BYTES: usize = 165;

/// Accepts blocks and keeps only the tip.
#[derive(Default)]
struct NoStore(Mutex<Option<Tip>>);

impl BlockSink for NoStore {
    fn tip(&self) -> Result<Option<Tip>> {
        Ok(*self.0.lock().unwrap())
    }

    fn apply(&self, blocks: &[Block]) -> Result<()> {
        *self.0.lock().unwrap() = blocks.last().map(|block| Tip {
            slot: block.slot,
            parent_slot: block.parent_slot,
            blockhash: block.blockhash,
            block_height: block.block_height,
            block_time: block.block_time,
            root: 0,
        });
        Ok(())
    }

    fn tidy(&self, _deadline: Instant) -> Result<bool> {
        Ok(false)
    }
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse::<u64>().unwrap());
    let blocks = arguments.next().unwrap_or(20);
    let accounts = arguments.next().unwrap_or(20_000);
    let feed = Arc::new(feed(blocks, accounts));
    let total = blocks * accounts;
    println!("{blocks} blocks of {accounts} accounts of {DATA_BYTES} bytes");

    let updates: Vec<_> = feed.iter().map(update_of).collect();
    let (took, longest) = buffer(updates.into_iter(), blocks);
    show("buffer alone", total, took);
    println!(
        "  longest message: {:.1} ms (a block's marker, sorting included)",
        ms(longest)
    );

    let frames: Vec<Vec<u8>> = feed
        .iter()
        .map(|step| update_of(step).encode_to_vec())
        .collect();
    let bytes: usize = frames.iter().map(Vec::len).sum();
    let decoded = frames
        .iter()
        .map(|frame| SubscribeUpdate::decode(frame.as_slice()).unwrap());
    let (took, _) = buffer(decoded, blocks);
    show("decode and buffer", total, took);
    println!("  {:.0} MB/s", bytes as f64 / 1e6 / took.as_secs_f64());

    show(
        "over gRPC, server included",
        total,
        over_grpc(&feed, FIRST_SLOT + blocks - 1),
    );
}

fn feed(blocks: u64, accounts: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    for slot in FIRST_SLOT..FIRST_SLOT + blocks {
        for index in 0..accounts {
            // Keys scattered like real ones, and equal in each block.
            let mut pubkey = [0; 32];
            for (part, bytes) in pubkey.chunks_exact_mut(8).enumerate() {
                let mixed = (index * 4 + part as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                bytes.copy_from_slice(&mixed.to_be_bytes());
            }
            steps.push(chain::account_of(
                slot,
                pubkey.to_vec(),
                vec![slot as u8; DATA_BYTES],
            ));
        }
        steps.extend([
            chain::meta(slot),
            chain::status(slot, SlotStatus::SlotConfirmed),
        ]);
    }
    steps
}

fn update_of(step: &Step) -> SubscribeUpdate {
    match step {
        Step::Send(update) => update.as_ref().clone(),
        _ => unreachable!("the feed only sends"),
    }
}

fn buffer(updates: impl Iterator<Item = SubscribeUpdate>, blocks: u64) -> (Duration, Duration) {
    let config = GeyserConfig::default();
    let limits = BufferLimits {
        buffer_bytes_max: config.buffer_bytes_max,
        reorder_blocks_max: config.reorder_blocks_max,
    };
    let mut slots = BlockAssembler::new(None, true, limits);
    let mut ready = Vec::new();
    let mut count = 0;
    let (begun, mut longest) = (Instant::now(), Duration::ZERO);
    for update in updates {
        if let Message::Update(update) = translate(update, Taken::of(&config)).unwrap() {
            let before = Instant::now();
            slots.push(update, &mut ready).unwrap();
            longest = longest.max(before.elapsed());
        }
        count += ready.drain(..).count() as u64;
    }
    let took = begun.elapsed();
    assert_eq!(count, blocks, "every block came out");
    (took, longest)
}

fn over_grpc(feed: &Arc<Vec<Step>>, last_slot: u64) -> Duration {
    let steps = Arc::clone(feed);
    let server = FeedServer::start(move |_, _| Ok(chain::then_hang(steps.to_vec())));
    let config = GeyserConfig {
        endpoint: format!("http://{}", server.address),
        start_slot: Some(FIRST_SLOT),
        accept_zstd: false,
        ..GeyserConfig::default()
    };
    let (send, events) = mpsc::channel();
    let reader = start(config, Arc::new(NoStore::default()), move |event| {
        let _ = send.send((Instant::now(), event));
    })
    .unwrap();
    let mut begun = None;
    let took = loop {
        match events.recv().unwrap() {
            (at, Event::Connected { .. }) => begun = Some(at),
            (at, Event::Committed { slot, .. }) if slot == last_slot => {
                break at - begun.unwrap();
            }
            (_, Event::Disconnected { reason, .. }) => panic!("{reason}"),
            _ => {}
        }
    };
    reader.stop().unwrap();
    took
}

fn show(what: &str, total: u64, took: Duration) {
    println!(
        "{what}: {:.0} updates/s ({:.0} ms)",
        total as f64 / took.as_secs_f64(),
        ms(took)
    );
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

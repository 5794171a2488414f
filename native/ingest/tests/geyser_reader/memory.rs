//! Measures the memory of a reader whose feed is many times faster than its writer.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ingest::geyser::BlockSink;
use store::{Block, Options, Store, Tip};
use sys::error::Result;
use yellowstone_grpc_proto::geyser::SlotStatus;

use crate::chain::*;
use crate::harness::read_from;
use crate::measuring::{anonymous_bytes, measure, peak_of, report};
use crate::server::{FeedServer, Step};

const ENDPOINT: &str = "SLOTLINE_TEST_FEED";
const QUEUE: &str = "SLOTLINE_TEST_QUEUE_MIB";
const FIRST: u64 = 11;
const LAST: u64 = 90;
const ACCOUNTS: u64 = 2_000;
const DATA_BYTES: usize = 1_000;
/// Minimum time of a slot in the writer, several times its time on the wire.
const SLOT_MS: u64 = 10;
/// Queue sizes: one that limits the reader, and one that can contain the whole feed.
const QUEUES_MIB: [usize; 2] = [16, 512];
/// Bytes of the whole feed. A queue without a limit would contain almost all of them.
const FEED_BYTES: u64 = (LAST - FIRST + 1) * ACCOUNTS * DATA_BYTES as u64;
/// Memory besides queue, buffer and window: the runtime, the store's own pages of one block, and
/// messages in transit.
const OTHER_BYTES: u64 = 40 << 20;

fn pubkey(index: u64) -> [u8; 32] {
    let mut key = [0; 32];
    for (part, bytes) in key.chunks_exact_mut(8).enumerate() {
        let mixed = (index * 4 + part as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bytes.copy_from_slice(&mixed.to_be_bytes());
    }
    key
}

fn slot_of(slot: u64) -> Vec<Step> {
    let data = vec![slot as u8; DATA_BYTES];
    let account = |index| account_of(slot, pubkey(index).to_vec(), data.clone());
    let mut steps: Vec<Step> = (0..ACCOUNTS).map(account).collect();
    steps.extend([meta(slot), status(slot, SlotStatus::SlotConfirmed)]);
    steps
}

/// A real store whose first commit blocks until half of the feed is in memory or a time limit
/// passes.
struct Slow {
    store: Store,
    has_hung: AtomicBool,
    /// Memory at the start, in bytes.
    before: u64,
    /// Maximum time that the first commit blocks. With the large queue it allows a busy machine to
    /// receive the feed.
    hangs: Duration,
}

impl BlockSink for Slow {
    fn tip(&self) -> Result<Option<Tip>> {
        self.store.tip()
    }

    fn apply(&self, blocks: &[Block]) -> Result<()> {
        if !self.has_hung.swap(true, Ordering::Relaxed) {
            let begun = Instant::now();
            while begun.elapsed() < self.hangs && anonymous_bytes() < self.before + FEED_BYTES / 2 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        std::thread::sleep(Duration::from_millis(SLOT_MS * blocks.len() as u64));
        self.store.apply_all(blocks).map(|_| ())
    }

    fn tidy(&self, deadline: Instant) -> Result<bool> {
        self.store.refill_holders(deadline)
    }
}

/// Child process of the test below: runs the reader and reports its memory.
#[test]
fn measured() {
    let (Ok(endpoint), Ok(queue)) = (std::env::var(ENDPOINT), std::env::var(QUEUE)) else {
        return;
    };
    let queue_mib: usize = queue.parse().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        map_bytes: 1 << 30,
        feed_bytes_max: 16 << 20,
        disk_reserve_bytes: 0,
        ..Options::default()
    };
    let store = Store::open_writer(&PathBuf::from(dir.path()), &options).unwrap();
    let before = anonymous_bytes();
    let slow = Slow {
        store,
        has_hung: AtomicBool::new(false),
        before,
        hangs: Duration::from_secs(if queue_mib == QUEUES_MIB[0] { 2 } else { 15 }),
    };
    let ((h, events), peak) = peak_of(|| {
        let h = read_from(Arc::new(slow), endpoint, |config| {
            config.buffer_bytes_max = queue_mib << 20;
            config.group_blocks_max = 1;
            config.window_bytes = 1 << 20;
            config.accept_zstd = false;
        });
        let events = h.events.wait_committed(LAST);
        (h, events)
    });
    h.reader.stop().unwrap();
    let slots: Vec<u64> = crate::harness::committed(&events);
    assert_eq!(slots, (FIRST..=LAST).collect::<Vec<_>>(), "each slot, once");
    let store = &h.sink.store;
    let snapshot = store.snapshot().unwrap();
    for index in 0..ACCOUNTS {
        let account = snapshot.account(&pubkey(index)).unwrap().unwrap();
        assert_eq!((account.slot, account.lamports), (LAST, LAST));
        assert_eq!(account.data, vec![LAST as u8; DATA_BYTES]);
    }
    drop(snapshot);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    let replays = events
        .iter()
        .filter(|event| matches!(event, ingest::geyser::Event::Connected { .. }))
        .count();
    report(&[peak.saturating_sub(before), replays as u64]);
}

/// Memory growth in bytes of a reader with this queue, and the number of streams it opened.
fn run(server: &FeedServer, queue_mib: usize) -> (u64, u64) {
    let variables = [
        (ENDPOINT, format!("http://{}", server.address)),
        (QUEUE, queue_mib.to_string()),
    ];
    let figures = measure("memory::measured", &variables);
    (figures[0], figures[1])
}

#[test]
fn a_feed_faster_than_the_writer_stays_within_the_memory_limits() {
    let server = FeedServer::start(|request, _| {
        let from = request.from_slot.unwrap_or(FIRST);
        Ok(then_hang((from..=LAST).flat_map(slot_of).collect()))
    });
    let (bounded, streams) = run(&server, QUEUES_MIB[0]);
    // Queue, buffer and stream window.
    let bounds = (16 + 16 + 1) << 20;
    assert!(bounded < bounds + OTHER_BYTES, "{bounded} bytes");
    assert!(
        streams > 1,
        "the feed was never too fast, and nothing is shown"
    );
    // The queue is the limit: with a larger one, the same feed fills it.
    let (unbounded, streams) = run(&server, QUEUES_MIB[1]);
    assert_eq!(streams, 1);
    assert!(
        unbounded > FEED_BYTES / 2,
        "{unbounded} bytes of {FEED_BYTES}"
    );
}

//! Test harness: a reader, its sink, its events and functions that wait for them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use ingest::geyser::{BlockSink, Event, FeedReader, GeyserConfig, start};
use store::{Block, Tip};
use sys::error::{ChainBreak, Error, Result};

use crate::server::{FeedServer, PATIENCE};

/// A store in memory with the same chain check as the real one. It can block, fail or panic.
#[derive(Default)]
pub struct MemorySink {
    pub blocks: Mutex<Vec<Block>>,
    /// The slots of each attempted commit.
    pub tried: Mutex<Vec<Vec<u64>>>,
    /// The refusal for every commit that contains this slot, until reset.
    pub refuse: Mutex<Option<(u64, Refusal)>>,
    /// Number of commits that may still pass. `None` means no limit.
    pub passes: Mutex<Option<usize>>,
    pub released: Condvar,
    pub applies_begun: AtomicUsize,
    /// Calls of `tidy` that leave something to do.
    pub untidy: AtomicUsize,
    pub tidied: AtomicUsize,
}

/// How a commit fails.
#[derive(Clone, Copy)]
pub enum Refusal {
    DiskFull,
    /// Another process wrote: the block does not continue the tip.
    OtherTip,
    Panic,
}

impl MemorySink {
    pub fn slots(&self) -> Vec<u64> {
        self.blocks
            .lock()
            .unwrap()
            .iter()
            .map(|block| block.slot)
            .collect()
    }

    pub fn blocks(&self) -> Vec<Block> {
        self.blocks.lock().unwrap().clone()
    }

    pub fn refuse(&self, refusal: Option<(u64, Refusal)>) {
        *self.refuse.lock().unwrap() = refusal;
    }

    pub fn hold(&self, is_held: bool) {
        self.let_pass(is_held.then_some(0));
    }

    pub fn let_pass(&self, passes: Option<usize>) {
        *self.passes.lock().unwrap() = passes;
        self.released.notify_all();
    }
}

impl BlockSink for MemorySink {
    fn tip(&self) -> Result<Option<Tip>> {
        Ok(self.blocks.lock().unwrap().last().map(|block| Tip {
            slot: block.slot,
            parent_slot: block.parent_slot,
            blockhash: block.blockhash,
            block_height: block.block_height,
            block_time: block.block_time,
            root: 0,
        }))
    }

    fn tidy(&self, deadline: Instant) -> Result<bool> {
        assert!(deadline <= Instant::now() + Duration::from_millis(10));
        self.tidied.fetch_add(1, Ordering::Relaxed);
        let left = self.untidy.load(Ordering::Relaxed).saturating_sub(1);
        self.untidy.store(left, Ordering::Relaxed);
        Ok(left > 0)
    }

    fn apply(&self, blocks: &[Block]) -> Result<()> {
        self.applies_begun.fetch_add(1, Ordering::Relaxed);
        let mut passes = self.passes.lock().unwrap();
        while *passes == Some(0) {
            passes = self.released.wait(passes).unwrap();
        }
        *passes = passes.map(|passes| passes - 1);
        drop(passes);
        let slots = blocks.iter().map(|block| block.slot).collect();
        self.tried.lock().unwrap().push(slots);
        let refused = *self.refuse.lock().unwrap();
        let mut tip = self.tip()?.map(|tip| (tip.slot, tip.blockhash));
        for block in blocks {
            match refused {
                Some((slot, Refusal::DiskFull)) if slot == block.slot => {
                    return Err(Error::DiskReserve(5));
                }
                Some((slot, Refusal::Panic)) if slot == block.slot => {
                    std::panic::resume_unwind(Box::new("as requested"))
                }
                Some((slot, Refusal::OtherTip)) if slot == block.slot => {
                    tip = Some((slot - 1, [0; 32]));
                }
                _ => {}
            }
            if let Some((tip_slot, tip_blockhash)) = tip
                && (tip_slot, tip_blockhash) != (block.parent_slot, block.parent_blockhash)
            {
                return Err(Error::NotNextBlock(Box::new(ChainBreak {
                    tip_slot,
                    tip_blockhash,
                    slot: block.slot,
                    parent_slot: block.parent_slot,
                    parent_blockhash: block.parent_blockhash,
                })));
            }
            tip = Some((block.slot, block.blockhash));
        }
        self.blocks.lock().unwrap().extend_from_slice(blocks);
        Ok(())
    }
}

/// All events of the reader.
#[derive(Default)]
pub struct Events {
    list: Mutex<Vec<Event>>,
    grown: Condvar,
}

impl Events {
    fn push(&self, event: Event) {
        self.list.lock().unwrap().push(event);
        self.grown.notify_all();
    }

    pub fn all(&self) -> Vec<Event> {
        self.list.lock().unwrap().clone()
    }

    /// Waits until `is_here` returns true for the whole list.
    pub fn wait(&self, what: &str, is_here: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let begun = Instant::now();
        let mut list = self.list.lock().unwrap();
        while !is_here(&list) {
            let left = PATIENCE.saturating_sub(begun.elapsed());
            assert!(!left.is_zero(), "{what} never came: {list:#?}");
            list = self.grown.wait_timeout(list, left).unwrap().0;
        }
        list.clone()
    }

    pub fn wait_committed(&self, slot: u64) -> Vec<Event> {
        self.wait(&format!("slot {slot}"), |events| {
            committed(events).contains(&slot)
        })
    }

    /// Waits for an event of this kind whose text contains `part`, and returns the text.
    pub fn wait_text(&self, kind: &str, part: &str) -> String {
        let find = |events: &[Event]| {
            events.iter().find_map(|event| {
                let flat = ingest::geyser::FlatEvent::from(event.clone());
                (flat.kind == kind && flat.text.contains(part)).then_some(flat.text)
            })
        };
        let events = self.wait(&format!("{kind} with `{part}`"), |events| {
            find(events).is_some()
        });
        find(&events).unwrap()
    }
}

pub fn committed(events: &[Event]) -> Vec<u64> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Committed { slot, .. } => Some(*slot),
            _ => None,
        })
        .collect()
}

/// Short timeouts and pauses, to keep back-off tests fast.
pub fn quick(endpoint: String) -> GeyserConfig {
    GeyserConfig {
        endpoint,
        start_slot: Some(11),
        connect_timeout_ms: 5_000,
        block_silence_ms: 5_000,
        backoff_initial_ms: 20,
        backoff_max_ms: 80,
        backoff_long_ms: 100,
        ..GeyserConfig::default()
    }
}

pub struct Harness<S> {
    pub sink: Arc<S>,
    pub events: Arc<Events>,
    pub reader: FeedReader,
}

pub fn read(server: &FeedServer, change: impl FnOnce(&mut GeyserConfig)) -> Harness<MemorySink> {
    read_into(MemorySink::default(), server, change)
}

pub fn read_into(
    sink: MemorySink,
    server: &FeedServer,
    change: impl FnOnce(&mut GeyserConfig),
) -> Harness<MemorySink> {
    read_from(Arc::new(sink), format!("http://{}", server.address), change)
}

pub fn read_from<S: BlockSink>(
    sink: Arc<S>,
    endpoint: String,
    change: impl FnOnce(&mut GeyserConfig),
) -> Harness<S> {
    let mut config = quick(endpoint);
    change(&mut config);
    let events = Arc::new(Events::default());
    let heard = Arc::clone(&events);
    let reader = start(config, Arc::clone(&sink), move |event| heard.push(event)).unwrap();
    Harness {
        sink,
        events,
        reader,
    }
}

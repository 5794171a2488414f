//! A reader under test: its sink, its events, and waiting for them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use kernel::error::{ChainBreak, Error, Result};
use kernel::geyser::{Event, GeyserConfig, Reader, Sink, start};
use kernel::store::{Block, Tip};

use crate::server::FeedServer;

/// Longest wait of a test for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A store in memory with the same gate as the real one, which can be told to wait, refuse or panic.
#[derive(Default)]
pub struct MemorySink {
    pub blocks: Mutex<Vec<Block>>,
    pub refuse: Mutex<Option<Refusal>>,
    pub is_held: Mutex<bool>,
    pub released: Condvar,
    pub applies_begun: AtomicUsize,
}

/// What the next apply does instead.
pub enum Refusal {
    DiskFull,
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

    pub fn hold(&self, is_held: bool) {
        *self.is_held.lock().unwrap() = is_held;
        self.released.notify_all();
    }
}

impl Sink for MemorySink {
    fn tip(&self) -> Result<Option<Tip>> {
        Ok(self.blocks.lock().unwrap().last().map(|block| Tip {
            slot: block.slot,
            parent_slot: block.parent_slot,
            blockhash: block.blockhash,
            block_height: block.block_height,
            block_time: block.block_time,
        }))
    }

    fn apply(&self, block: &Block) -> Result<()> {
        self.applies_begun.fetch_add(1, Ordering::Relaxed);
        let mut is_held = self.is_held.lock().unwrap();
        while *is_held {
            is_held = self.released.wait(is_held).unwrap();
        }
        drop(is_held);
        let refusal = self.refuse.lock().unwrap().take();
        match refusal {
            Some(Refusal::DiskFull) => return Err(Error::DiskReserve(5)),
            Some(Refusal::Panic) => std::panic::resume_unwind(Box::new("told to")),
            None => {}
        }
        if let Some(tip) = self.tip()?
            && (tip.slot, tip.blockhash) != (block.parent_slot, block.parent_blockhash)
        {
            return Err(Error::NotNextBlock(Box::new(ChainBreak {
                tip_slot: tip.slot,
                tip_blockhash: tip.blockhash,
                slot: block.slot,
                parent_slot: block.parent_slot,
                parent_blockhash: block.parent_blockhash,
            })));
        }
        self.blocks.lock().unwrap().push(block.clone());
        Ok(())
    }
}

/// Everything the reader said so far.
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

    /// Waits until `is_here` holds of the whole list.
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

    /// Waits for an event of this kind whose text holds `part`, and returns the text.
    pub fn wait_text(&self, kind: &str, part: &str) -> String {
        let find = |events: &[Event]| {
            events.iter().find_map(|event| {
                let flat = kernel::geyser::FlatEvent::from(event.clone());
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

/// Short times, so that a test of a back-off takes no longer than it must.
pub fn quick(endpoint: String) -> GeyserConfig {
    GeyserConfig {
        endpoint,
        start_slot: Some(11),
        connect_timeout_ms: 5_000,
        silence_ms: 5_000,
        block_silence_ms: 10_000,
        backoff_initial_ms: 20,
        backoff_max_ms: 80,
        backoff_long_ms: 100,
        ..GeyserConfig::default()
    }
}

pub struct Harness<S> {
    pub sink: Arc<S>,
    pub events: Arc<Events>,
    pub reader: Reader,
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

pub fn read_from<S: Sink>(
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

//! The writer thread and its queue. The stream's reader never waits for a commit.
//!
//! A commit waits for the disk, mostly for pages that the next block changes again. A writer with a
//! backlog therefore commits several blocks at once. Without a backlog it commits each block on
//! arrival.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

use super::event::Event;
use super::group::{Group, GroupBounds};
use super::update::{Origin, Ready};
use store::{Block, Store, Tip};
use sys::error::{Error, Result};

/// Destination of blocks. In production this is the store.
pub trait BlockSink: Send + Sync + 'static {
    fn tip(&self) -> Result<Option<Tip>>;
    /// Writes consecutive blocks atomically: on return all are durable, on failure none is written.
    /// Skips blocks at or before the tip.
    fn apply(&self, blocks: &[Block]) -> Result<()>;
    /// Does work that may wait, until the deadline; whether something is left to do. Called on the
    /// same thread, between commits. Without a default: a sink that forwards blocks must forward
    /// this, too.
    fn tidy(&self, deadline: Instant) -> Result<bool>;
}

impl BlockSink for Store {
    fn tip(&self) -> Result<Option<Tip>> {
        Store::tip(self)
    }

    fn apply(&self, blocks: &[Block]) -> Result<()> {
        self.apply_all(blocks).map(|_| ())
    }

    fn tidy(&self, deadline: Instant) -> Result<bool> {
        self.refill_holders(deadline)
    }
}

/// Longest work between commits: a block that arrives waits that long at most.
const TIDY_MAX: Duration = Duration::from_millis(10);

pub type OnEvent = Arc<dyn Fn(Event) + Send + Sync>;

/// The queue is full. Holds its limit in bytes.
#[derive(Debug)]
pub struct QueueFull(pub usize);

/// The writer's progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Slot and blockhash.
    pub tip: Option<(u64, [u8; 32])>,
    pub committed: u64,
    pub has_failed: bool,
}

/// The writer thread of one reader. It ends when this value is stopped or dropped.
pub struct Applier {
    shared: Arc<Shared>,
    /// `None` once it was joined.
    thread: Option<JoinHandle<()>>,
}

/// The stream reader's handle to the applier.
#[derive(Clone)]
pub struct ApplierHandle {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Wakes the writer.
    wake: Condvar,
    /// Wakes the reader on progress, on failure and when the queue becomes empty.
    news: Notify,
    queue_bytes_max: usize,
    bounds: GroupBounds,
    /// Bytes buffered in incomplete slots, reported in events.
    slots_bytes: AtomicUsize,
}

#[derive(Default)]
struct State {
    blocks: VecDeque<Ready>,
    /// Bytes of `blocks` and of the blocks being written.
    bytes: usize,
    is_busy: bool,
    is_stopping: bool,
    progress: Progress,
    /// Set when a block fails. Queued and later blocks are dropped until [`ApplierHandle::settle`]
    /// takes the error.
    failure: Option<Error>,
}

impl Applier {
    /// Reads the sink's tip on the new thread. Call [`ApplierHandle::settle`] before the first
    /// block.
    pub fn start<S: BlockSink>(
        sink: Arc<S>,
        queue_bytes_max: usize,
        bounds: GroupBounds,
        on_event: OnEvent,
    ) -> Result<Applier> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                is_busy: true,
                ..State::default()
            }),
            wake: Condvar::new(),
            news: Notify::new(),
            queue_bytes_max,
            bounds,
            slots_bytes: AtomicUsize::new(0),
        });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("slotline-apply".into())
            .spawn(move || of_thread.run(sink.as_ref(), &on_event))?;
        Ok(Applier {
            shared,
            thread: Some(thread),
        })
    }

    pub fn handle(&self) -> ApplierHandle {
        ApplierHandle {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Finishes the current commit and drops the queued blocks. A replay delivers them again.
    pub fn stop(&self) {
        let mut state = self.shared.lock();
        state.is_stopping = true;
        state.drop_blocks();
        drop(state);
        self.shared.wake.notify_all();
        self.shared.news.notify_one();
    }

    /// Whether the thread has done its work. After that nothing more is written.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end of the thread. LMDB gives a reader's slot back at the very end of its
    /// thread, after `is_finished`, and the store must not be closed before that.
    pub fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic was reported as a failure of the store.
            let _ = thread.join();
        }
    }
}

impl Drop for Applier {
    fn drop(&mut self) {
        self.stop();
    }
}

impl ApplierHandle {
    /// Queues a block. Drops it after a failure, because it cannot continue the tip.
    pub fn offer(&self, ready: Ready) -> std::result::Result<(), QueueFull> {
        let mut state = self.shared.lock();
        if state.is_stopping || state.failure.is_some() {
            return Ok(());
        }
        // An idle writer accepts any block. Otherwise a block larger than the queue would always be
        // rejected.
        if state.bytes > 0 && state.bytes.saturating_add(ready.bytes) > self.shared.queue_bytes_max
        {
            return Err(QueueFull(self.shared.queue_bytes_max));
        }
        state.bytes += ready.bytes;
        state.blocks.push_back(ready);
        drop(state);
        self.shared.wake.notify_one();
        Ok(())
    }

    pub fn progress(&self) -> Progress {
        let state = self.shared.lock();
        Progress {
            has_failed: state.failure.is_some(),
            ..state.progress
        }
    }

    pub fn set_slots_bytes(&self, bytes: usize) {
        self.shared.slots_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Resolves on progress, on failure and when the queue becomes empty. Supports one waiter at a
    /// time.
    pub async fn news(&self) {
        self.shared.news.notified().await;
    }

    /// Waits until all queued blocks are written or dropped, then takes the error, if any.
    pub async fn settle(&self) -> Option<Error> {
        loop {
            {
                let mut state = self.shared.lock();
                if state.is_stopping || (!state.is_busy && state.blocks.is_empty()) {
                    return state.failure.take();
                }
            }
            self.news().await;
        }
    }
}

impl State {
    fn drop_blocks(&mut self) {
        let bytes: usize = self.blocks.iter().map(|ready| ready.bytes).sum();
        self.blocks.clear();
        self.bytes -= bytes;
    }
}

impl Shared {
    /// The state contains only plain values, which stay valid when a panic poisons the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run<S: BlockSink>(&self, sink: &S, on_event: &OnEvent) {
        self.finish(0, 0, sink, Ok(()));
        self.news.notify_one();
        while let Some(group) = self.next() {
            self.write(&group, sink, on_event);
            self.news.notify_one();
            self.tidy(sink);
        }
    }

    /// Works once after each commit, and on while no block waits.
    fn tidy<S: BlockSink>(&self, sink: &S) {
        // A failure is one of the store: the next commit reports it.
        while guard("tidying the store", || sink.tidy(Instant::now() + TIDY_MAX)).unwrap_or(false) {
            let state = self.lock();
            if state.is_stopping || !state.blocks.is_empty() {
                break;
            }
        }
    }

    fn next(&self) -> Option<Group> {
        let mut state = self.lock();
        loop {
            if state.is_stopping {
                return None;
            }
            if let Some(group) = Group::take(&mut state.blocks, self.bounds) {
                state.is_busy = true;
                return Some(group);
            }
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes a group and sends one event per committed block.
    fn write<S: BlockSink>(&self, group: &Group, sink: &S, on_event: &OnEvent) {
        let start = Instant::now();
        let mut outcome = apply(sink, &group.blocks);
        let mut done = group.blocks.len();
        if outcome.is_err() {
            done = 0;
            // A failed group wrote nothing. Applying blocks singly commits those before the faulty
            // block and returns that block's own error.
            if group.blocks.len() > 1 {
                (done, outcome) = self.apply_singly(&group.blocks, sink);
            }
        }
        let shared_micros = micros(start) / (done as u64).max(1);
        self.finish(group.bytes, done, sink, outcome);
        for (block, origin) in group.blocks.iter().zip(&group.origins).take(done) {
            on_event(self.committed(block, *origin, shared_micros));
        }
    }

    /// Returns the number of blocks written and the error that stopped it, if any.
    fn apply_singly<S: BlockSink>(&self, blocks: &[Block], sink: &S) -> (usize, Result<()>) {
        for (done, block) in blocks.iter().enumerate() {
            if self.lock().is_stopping {
                return (done, Ok(()));
            }
            if let Err(error) = apply(sink, slice::from_ref(block)) {
                return (done, Err(error));
            }
        }
        (blocks.len(), Ok(()))
    }

    fn finish<S: BlockSink>(&self, bytes: usize, done: usize, sink: &S, outcome: Result<()>) {
        // Read the tip after a failure too: another process may have written.
        let tip = guard("reading the tip", || sink.tip());
        let mut state = self.lock();
        state.is_busy = false;
        state.bytes -= bytes;
        state.progress.committed += done as u64;
        if let Ok(tip) = &tip {
            state.progress.tip = tip.as_ref().map(|tip| (tip.slot, tip.blockhash));
        }
        if let Err(error) = outcome.and(tip) {
            state.drop_blocks();
            state.failure = Some(error);
        }
    }

    fn committed(&self, block: &Block, origin: Origin, apply_micros: u64) -> Event {
        let now_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| {
                u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
            });
        let buffered = self.lock().bytes + self.slots_bytes.load(Ordering::Relaxed);
        Event::Committed {
            slot: block.slot,
            block_height: block.block_height,
            accounts: u64::try_from(block.accounts.len()).unwrap_or(u64::MAX),
            apply_micros,
            feed_lag_ms: origin
                .created_ms
                .map(|created_ms| now_ms.saturating_sub(created_ms)),
            buffered_bytes: u64::try_from(buffered).unwrap_or(u64::MAX),
            is_by_bank: origin.is_by_bank,
            dropped: origin.dropped,
        }
    }
}

fn apply<S: BlockSink>(sink: &S, blocks: &[Block]) -> Result<()> {
    guard("applying a block", || sink.apply(blocks))
}

/// Converts a panic into an error so that the writer reports it.
fn guard<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Error::Internal(format!("{what} panicked"))))
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

//! Turns what a store gains into the frames of subscriptions: whole JSON-RPC notifications.
//!
//! An edge has one fan-out for each store. The event loop adds and removes subscriptions, which
//! only queues them; a pass, on a thread of its own, takes the queue, looks at the slots that came
//! since the last pass, and writes frames. A change meets the subscriptions that name it by hash
//! look-ups, so that a pass costs what changed and what was hit, not their product. Nothing is left
//! out unnoticed: where the store no longer holds a slot, the pass says so.

mod engine;
mod error_json;
mod frames;
mod index;
mod interest;
mod pass;
mod pending;
mod programs;
mod queue;
mod signatures;
mod slot;
mod subs;

pub use interest::{Interest, LogsOf};
pub use pass::{FanoutOptions, FanoutStats, IS_LAST, Pass};

use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::Engine;
use queue::Queue;
use store::Store;
use sys::error::Result;

/// The subscriptions of one edge to one store.
pub struct Fanout {
    options: FanoutOptions,
    queue: Mutex<Queue>,
    engine: Mutex<Engine>,
    stats: Mutex<FanoutStats>,
}

impl Fanout {
    pub fn new(options: FanoutOptions) -> Fanout {
        Fanout {
            options,
            queue: Mutex::new(Queue::new(options.subscriptions_max)),
            engine: Mutex::default(),
            stats: Mutex::default(),
        }
    }

    /// Queues a subscription; never waits for a pass. Fails where the id is in use, or where there
    /// are too many.
    pub fn add(&self, id: u32, interest: Interest) -> Result<()> {
        lock(&self.queue).add(id, interest)
    }

    /// Queues the end of a subscription; never waits for a pass. An unknown id is no fault.
    pub fn remove(&self, id: u32) {
        lock(&self.queue).remove(id);
    }

    /// Looks at what the store has gained since the last pass. Its snapshot ends with it.
    pub fn pass(&self, store: &Store) -> Result<Pass> {
        let mut engine = lock(&self.engine);
        // First: what is queued before a block's commit must be there when its slot is looked at.
        let snapshot = store.snapshot()?;
        let queued = lock(&self.queue).take();
        let passed = engine.pass(&snapshot, queued, &self.options);
        drop(snapshot);
        lock(&self.queue).forget(&engine.take_ended());
        *lock(&self.stats) = engine.stats();
        passed
    }

    pub fn stats(&self) -> FanoutStats {
        FanoutStats {
            subscriptions: lock(&self.queue).count(),
            ..*lock(&self.stats)
        }
    }
}

/// A pass that panicked leaves an engine that knows it; the others hold plain values.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

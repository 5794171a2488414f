//! Turns the changes of a store into subscription frames: whole JSON-RPC notifications.
//!
//! An edge has one fan-out for each store. The event loop only queues added and removed
//! subscriptions. A pass runs on a separate thread: it takes the queue, reads the slots since the
//! last pass and writes frames. Changes find subscriptions by hash look-ups, so a pass costs the
//! sum of changes and matches, not the product of changes and subscriptions. Where the store has
//! already deleted a slot, the pass reports the loss.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables of cases"))]

mod cursor;
mod engine;
mod error_json;
mod frames;
mod index;
mod interest;
mod outcomes;
mod pass;
mod pending;
mod programs;
mod queue;
mod replay;
mod signatures;
mod slot;
mod socket_replay;
mod subs;
mod transactions;
mod walk;

pub use cursor::{Cursor, Place};
pub use interest::{Interest, LogsOf, Resume, Subscription, TransactionFilter};
pub use outcomes::{AwaitedTransaction, push_outcomes};
pub use pass::{FanoutOptions, FanoutStats, IS_LAST, IS_REPLAYED, Pass};

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

    /// Queues a subscription. Never waits for a pass. Fails where the id is in use or the
    /// subscriptions are at their maximum.
    pub fn add(&self, id: u32, subscription: impl Into<Subscription>) -> Result<()> {
        lock(&self.queue).add(id, subscription.into())
    }

    /// Pauses the replays of a socket, which has frames enough to send, or lets them go on. Never
    /// waits for a pass.
    pub fn hold(&self, socket: u32, is_held: bool) {
        lock(&self.queue).hold(socket, is_held);
    }

    /// Queues the end of a subscription. Never waits for a pass. An unknown id is not an error.
    pub fn remove(&self, id: u32) {
        lock(&self.queue).remove(id);
    }

    /// Reads what the store has gained since the last pass. The snapshot ends with the pass.
    pub fn pass(&self, store: &Store) -> Result<Pass> {
        let mut engine = lock(&self.engine);
        // Take the queue before the snapshot: a subscription queued before a commit must see it.
        let snapshot = store.snapshot()?;
        let (queued, held) = {
            let mut queue = lock(&self.queue);
            (queue.take(), queue.held())
        };
        let passed = engine.pass(&snapshot, queued, &held, &self.options);
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

/// Ignores poisoning: a panicked pass leaves `is_torn` set, and the other values stay valid.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

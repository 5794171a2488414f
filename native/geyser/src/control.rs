//! An open stream, as the rest of the server knows it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tonic::Status;

use crate::calls::lock;
use crate::status::{copy, lagged};

/// Time to take the status of a stream that ends; then its connection is closed.
pub const END: Duration = Duration::from_secs(5);
/// The same if its client has not kept up: until then it keeps its slot in memory.
pub const END_LAGGED: Duration = Duration::from_secs(1);

/// A stream, and what its own task does.
pub struct Control {
    pub call: u64,
    pub access: Arc<str>,
    /// Wakes the task of the stream once it has to end.
    pub ending: Notify,
    /// Closes its connection.
    connection: Arc<Notify>,
    status: Mutex<Option<Status>>,
    is_over: AtomicBool,
    /// Milliseconds since `opened` at which it last did anything, or at which it will at the latest
    /// because it waits for the chain and not for its client.
    due_ms: AtomicU64,
    opened: Instant,
    /// The slot whose content it has; 0 is none.
    slot: AtomicU64,
    pub messages: AtomicU64,
    pub bytes: AtomicU64,
}

impl Control {
    pub fn new(call: u64, access: Arc<str>, connection: Arc<Notify>) -> Control {
        Control {
            call,
            access,
            ending: Notify::new(),
            connection,
            status: Mutex::new(None),
            is_over: AtomicBool::new(false),
            due_ms: AtomicU64::new(0),
            opened: Instant::now(),
            slot: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// Ends the stream with a status; the first one counts. No update is made after it. False if
    /// the stream ends already.
    pub fn close(&self, status: Status) -> bool {
        let mut ended = lock(&self.status);
        let is_first = ended.is_none();
        ended.get_or_insert(status);
        drop(ended);
        self.ending.notify_one();
        is_first
    }

    /// Fails once the stream has to end.
    pub fn check(&self) -> Result<(), Status> {
        match &*lock(&self.status) {
            Some(status) => Err(copy(status)),
            None => Ok(()),
        }
    }

    pub fn finish(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    pub fn abort_connection(&self) {
        self.connection.notify_one();
    }

    pub fn set_active(&self) {
        self.set_waiting(Duration::ZERO);
    }

    /// It waits for no longer than this. It may wait and have sent what its client does not take:
    /// then it does not go on in time.
    pub fn set_waiting(&self, time: Duration) {
        let due = self.opened.elapsed() + time;
        self.due_ms.store(due.as_millis() as u64, Ordering::Relaxed);
    }

    pub fn hold(&self, slot: u64) {
        self.slot.store(slot, Ordering::Relaxed);
    }

    fn is_stalled(&self, stall: Duration) -> bool {
        let due = Duration::from_millis(self.due_ms.load(Ordering::Relaxed));
        self.opened.elapsed() > due + stall
    }
}

/// The open streams of a server.
#[derive(Default)]
pub struct Controls(Mutex<HashMap<u64, Arc<Control>>>);

impl Controls {
    pub fn insert(&self, control: &Arc<Control>) {
        lock(&self.0).insert(control.call, Arc::clone(control));
    }

    pub fn remove(&self, call: u64) {
        lock(&self.0).remove(&call);
    }

    pub fn get(&self, call: u64) -> Option<Arc<Control>> {
        lock(&self.0).get(&call).cloned()
    }

    pub fn count(&self) -> usize {
        lock(&self.0).len()
    }

    /// Whether a connection, by what closes it, has an open stream.
    pub fn has_connection(&self, abort: &Arc<Notify>) -> bool {
        let all = lock(&self.0);
        all.values().any(|one| Arc::ptr_eq(&one.connection, abort))
    }

    pub fn all(&self) -> Vec<Arc<Control>> {
        lock(&self.0).values().cloned().collect()
    }

    /// Ends those whose clients have taken nothing of what is due for this long; answers them.
    pub fn end_stalled(&self, stall: Duration) -> Vec<Arc<Control>> {
        let all = self.all().into_iter();
        all.filter(|one| one.is_stalled(stall) && one.close(lagged()))
            .collect()
    }

    /// Ends those that keep the oldest slot in memory; answers them, and whether each was open.
    pub fn end_oldest(&self) -> Vec<(Arc<Control>, bool)> {
        let slot_of = |control: &Arc<Control>| control.slot.load(Ordering::Relaxed);
        let all = self.all();
        let slots = all.iter().map(slot_of).filter(|&slot| slot != 0);
        let Some(oldest) = slots.min() else {
            return Vec::new();
        };
        all.into_iter()
            .filter(|one| slot_of(one) == oldest)
            .map(|one| {
                let is_first = one.close(lagged());
                (one, is_first)
            })
            .collect()
    }
}

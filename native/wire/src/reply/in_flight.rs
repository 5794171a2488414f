//! The budget of all replies that are made and not yet read. An owner may take no more of it than
//! it leaves free (a dynamic threshold): one alone gets half, two a third each, so none takes what
//! the next needs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};

use sys::pool::Owner;

use super::chunk_pool::ChunkPool;
use super::sync::{Mutex, MutexGuard};

#[derive(Default)]
struct Used {
    total: usize,
    by_owner: HashMap<Owner, usize>,
}

/// Bytes of replies produced but not yet read, over all replies of a process.
pub struct InFlight {
    used: Mutex<Used>,
    bytes_max: usize,
    refused: AtomicU64,
    /// Chunks that were read.
    pub(super) chunks: ChunkPool,
}

impl InFlight {
    pub fn new(bytes_max: usize) -> Arc<InFlight> {
        Arc::new(InFlight {
            used: Mutex::default(),
            bytes_max,
            refused: AtomicU64::new(0),
            chunks: ChunkPool::default(),
        })
    }

    pub fn used(&self) -> usize {
        self.lock().total
    }

    /// Whether an owner may take any bytes; else that counts as a refusal.
    pub fn has_room(&self, owner: &Owner) -> bool {
        let has_room = self.lock().is_within(owner, 1, self.bytes_max);
        if !has_room {
            self.refused.fetch_add(1, Relaxed);
        }
        has_room
    }

    pub fn refused_count(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// What one reply takes.
    pub(super) fn charge(self: &Arc<InFlight>, owner: Owner) -> Charge {
        Charge {
            in_flight: Arc::clone(self),
            owner,
            bytes: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Used {
    fn of(&self, owner: &Owner) -> usize {
        self.by_owner.get(owner).copied().unwrap_or(0)
    }

    /// Without an owner only the bound for all holds.
    fn is_within(&self, owner: &Owner, bytes: usize, bytes_max: usize) -> bool {
        let own = if owner.is_none() {
            0
        } else {
            self.of(owner) + bytes
        };
        let free = bytes_max.checked_sub(self.total.saturating_add(bytes));
        free.is_some_and(|free| own <= free)
    }

    fn add(&mut self, owner: &Owner, bytes: usize) {
        self.total += bytes;
        *self.by_owner.entry(owner.clone()).or_default() += bytes;
    }

    fn remove(&mut self, owner: &Owner, bytes: usize) {
        self.total -= bytes;
        let left = self.of(owner) - bytes;
        if left == 0 {
            self.by_owner.remove(owner);
        } else if let Some(own) = self.by_owner.get_mut(owner) {
            *own = left;
        }
    }
}

/// The bytes that one reply has taken. Only what it took can be given back, so that no path makes
/// the budget negative; the rest is given back with it.
pub(super) struct Charge {
    in_flight: Arc<InFlight>,
    owner: Owner,
    bytes: usize,
}

impl Charge {
    /// Takes bytes, unless the owner would take more than it leaves free.
    pub fn try_grow(&mut self, bytes: usize) -> bool {
        let InFlight {
            refused, bytes_max, ..
        } = &*self.in_flight;
        let mut used = self.in_flight.lock();
        let is_within = used.is_within(&self.owner, bytes, *bytes_max);
        if is_within {
            used.add(&self.owner, bytes);
            self.bytes += bytes;
        } else {
            refused.fetch_add(1, Relaxed);
        }
        is_within
    }

    /// Takes bytes that may exceed the owner's part.
    pub fn grow(&mut self, bytes: usize) {
        self.in_flight.lock().add(&self.owner, bytes);
        self.bytes += bytes;
    }

    /// Whether so many bytes find no room.
    pub fn is_full(&self, bytes: usize) -> bool {
        let used = self.in_flight.lock();
        !used.is_within(&self.owner, bytes, self.in_flight.bytes_max)
    }

    /// Gives bytes back, at most those that were taken.
    pub fn shrink(&mut self, bytes: usize) {
        let given = bytes.min(self.bytes);
        if given > 0 {
            self.in_flight.lock().remove(&self.owner, given);
            self.bytes -= given;
        }
    }

    /// Gives back what is over `bytes`.
    pub fn shrink_to(&mut self, bytes: usize) {
        self.shrink(self.bytes.saturating_sub(bytes));
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

//! Assigns the signatures of one request to threads.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Not claimed by any thread.
const OPEN: u8 = 0;
/// Claimed and not finished. It stays so if the thread panicked.
const CLAIMED: u8 = 1;
/// The member is not a valid transaction.
const NOTHING: u8 = 2;
const RIGHT: u8 = 3;
const WRONG: u8 = 4;

/// The members of one request. Free threads claim each once, in ascending order.
#[derive(Debug)]
pub struct WorkClaims {
    states: Vec<AtomicU8>,
    next: AtomicUsize,
}

impl WorkClaims {
    pub fn new(count: usize) -> WorkClaims {
        WorkClaims {
            states: (0..count).map(|_| AtomicU8::new(OPEN)).collect(),
            next: AtomicUsize::new(0),
        }
    }

    /// Claims members and checks them until none is left. `is_right` returns `None` for an invalid
    /// transaction.
    pub fn work(&self, mut is_right: impl FnMut(usize) -> Option<bool>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(state) = self.states.get(index) else {
                return;
            };
            state.store(CLAIMED, Ordering::Relaxed);
            let found = match is_right(index) {
                None => NOTHING,
                Some(true) => RIGHT,
                Some(false) => WRONG,
            };
            state.store(found, Ordering::Release);
            if self.next.load(Ordering::Relaxed) < self.states.len() {
                // A batch takes 0.7 ms. Yield between signatures to threads that wait for this
                // processor.
                std::thread::yield_now();
            }
        }
    }

    /// Whether each member is signed; `None` for an invalid transaction. Call it after all threads
    /// have finished. The outer `None`: a thread panicked.
    pub fn finish(self) -> Option<Vec<Option<bool>>> {
        let states = self.states.into_iter().map(AtomicU8::into_inner);
        states
            .map(|state| match state {
                OPEN | CLAIMED => None,
                RIGHT => Some(Some(true)),
                WRONG => Some(Some(false)),
                _ => Some(None),
            })
            .collect()
    }
}

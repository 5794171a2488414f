//! Which thread checks which signatures, where several threads work at one request.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use super::check::Member;

/// Not claimed by any thread.
const OPEN: u8 = 0;
/// Claimed and not done. It stays so where the thread panicked.
const CLAIMED: u8 = 1;
/// The member is not a transaction.
const NOTHING: u8 = 2;
const RIGHT: u8 = 3;
const WRONG: u8 = 4;

/// The members of one request. Each is claimed once, in ascending order, by any thread that is free.
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

    /// Claims members and checks them until none is left. `is_right` returns `None` where a member is not a transaction.
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
                // A batch takes 0.7 ms: a thread that waits for this processor gets it between two signatures.
                std::thread::yield_now();
            }
        }
    }

    /// Writes what was found into the members. Call it when no thread works any more. `None`: a thread panicked.
    pub fn finish(self, members: &mut [Member]) -> Option<()> {
        for (member, state) in members.iter_mut().zip(self.states) {
            match state.into_inner() {
                OPEN | CLAIMED => return None,
                RIGHT => member.is_signed = Some(true),
                WRONG => member.is_signed = Some(false),
                _ => {}
            }
        }
        Some(())
    }
}

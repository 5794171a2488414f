//! Who checks which signatures, where several threads are at one request.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use super::check::Member;

/// Not taken by any thread.
const OPEN: u8 = 0;
/// Taken, and not done: what is left of a thread that has failed.
const TAKEN: u8 = 1;
/// There is no transaction.
const NOTHING: u8 = 2;
const RIGHT: u8 = 3;
const WRONG: u8 = 4;

/// The members of one request. Each is taken once, in ascending order, by whoever is free.
#[derive(Debug)]
pub struct Turns {
    states: Vec<AtomicU8>,
    next: AtomicUsize,
    stops_early: bool,
    is_stopped: AtomicBool,
}

impl Turns {
    /// With `stops_early` none is taken after one was wrong.
    pub fn new(count: usize, stops_early: bool) -> Turns {
        Turns {
            states: (0..count).map(|_| AtomicU8::new(OPEN)).collect(),
            next: AtomicUsize::new(0),
            stops_early,
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Takes members until there are no more. `is_right` answers `None` where a member is no
    /// transaction.
    pub fn work(&self, mut is_right: impl FnMut(usize) -> Option<bool>) {
        while !self.is_stopped.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(state) = self.states.get(index) else {
                return;
            };
            state.store(TAKEN, Ordering::Relaxed);
            let found = match is_right(index) {
                None => NOTHING,
                Some(true) => RIGHT,
                Some(false) => WRONG,
            };
            if found == WRONG && self.stops_early {
                self.is_stopped.store(true, Ordering::Relaxed);
            }
            state.store(found, Ordering::Release);
            if self.next.load(Ordering::Relaxed) < self.states.len() {
                // Whoever waits for this processor has it now, and not when the whole request is
                // checked.
                std::thread::yield_now();
            }
        }
    }

    /// Says of each member what was found, once no thread is at work. `None`: one has failed amid
    /// its work.
    pub fn finish(self, members: &mut [Member]) -> Option<()> {
        for (member, state) in members.iter_mut().zip(self.states) {
            match state.into_inner() {
                OPEN | TAKEN => return None,
                RIGHT => member.is_signed = Some(true),
                WRONG => member.is_signed = Some(false),
                _ => {}
            }
        }
        Some(())
    }

    /// The first that was not right, as if one thread had looked at one after the other, once no
    /// thread is at work. The outer `None`: one has failed amid its work.
    pub fn first_wrong(&self) -> Option<Option<usize>> {
        for (index, state) in self.states.iter().enumerate() {
            match state.load(Ordering::Acquire) {
                OPEN | TAKEN => return None,
                RIGHT => {}
                _ => return Some(Some(index)),
            }
        }
        Some(None)
    }
}

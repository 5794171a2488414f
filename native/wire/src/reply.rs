//! A reply on its way from a pool thread to the event loop: a bounded pipe of byte pieces, and one
//! budget for all replies in flight, so that readers which stop reading cost a bounded amount of
//! memory.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sys::error::{Error, Result};

type Waker = Box<dyn FnOnce() + Send>;

/// Bytes of replies that were produced and are still held, over all replies of a process.
pub struct InFlight {
    used: Mutex<usize>,
    freed: Condvar,
    bytes_max: usize,
}

impl InFlight {
    pub fn new(bytes_max: usize) -> Arc<InFlight> {
        Arc::new(InFlight {
            used: Mutex::new(0),
            freed: Condvar::new(),
            bytes_max,
        })
    }

    pub fn used(&self) -> usize {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self) -> bool {
        self.used() >= self.bytes_max
    }

    /// Waits until there is room at all, then takes `bytes`. A single piece may pass the bound:
    /// what is in flight is at most the bound and one piece for each producing thread.
    fn take(&self, bytes: usize, deadline: Instant) -> Result<()> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used >= self.bytes_max {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Overloaded);
            }
            let waited = self.freed.wait_timeout(used, left);
            used = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *used += bytes;
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_sub(bytes);
        drop(used);
        self.freed.notify_all();
    }
}

struct State {
    pieces: VecDeque<Vec<u8>>,
    /// Bytes of the first piece that the reader has taken already.
    taken: usize,
    queued: usize,
    outcome: Option<Result<()>>,
    is_closed: bool,
    waker: Option<Waker>,
}

struct Pipe {
    state: Mutex<State>,
    space: Condvar,
    queue_bytes_max: usize,
    in_flight: Arc<InFlight>,
}

impl Pipe {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The producing end. Dropping it without [`ReplyWriter::finish`] is a failure that the reader hears of.
pub struct ReplyWriter {
    pipe: Arc<Pipe>,
    deadline: Instant,
    is_finished: bool,
}

/// The taking end, on the event loop: never blocks.
pub struct ReplyReader {
    pipe: Arc<Pipe>,
}

/// What [`ReplyReader::read`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    Bytes(usize),
    /// Nothing yet: [`ReplyReader::wake`] calls back when there is more.
    Pending,
    End,
}

/// A pipe whose writer waits while `queue_bytes_max` are untaken, until `deadline`.
pub fn pipe(
    queue_bytes_max: usize,
    deadline: Instant,
    in_flight: Arc<InFlight>,
) -> (ReplyWriter, ReplyReader) {
    let pipe = Arc::new(Pipe {
        state: Mutex::new(State {
            pieces: VecDeque::new(),
            taken: 0,
            queued: 0,
            outcome: None,
            is_closed: false,
            waker: None,
        }),
        space: Condvar::new(),
        queue_bytes_max,
        in_flight,
    });
    (
        ReplyWriter {
            pipe: Arc::clone(&pipe),
            deadline,
            is_finished: false,
        },
        ReplyReader { pipe },
    )
}

impl ReplyWriter {
    /// Hands one piece over. Waits for room; fails at the deadline, or at once when the reader has
    /// closed.
    pub fn push(&mut self, piece: Vec<u8>) -> Result<()> {
        let bytes = piece.len();
        if bytes == 0 {
            return Ok(());
        }
        let mut state = self.pipe.lock();
        while state.queued >= self.pipe.queue_bytes_max && !state.is_closed {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::ReadTimeout);
            }
            let waited = self.pipe.space.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let is_closed = state.is_closed;
        drop(state);
        if is_closed {
            return Err(Error::ReadTimeout);
        }
        // Where the budget is what is full, only takers can make space: they must not wait for this
        // pipe to fill.
        if self.pipe.in_flight.is_full() {
            self.wake_reader();
        }
        self.pipe.in_flight.take(bytes, self.deadline)?;
        let mut state = self.pipe.lock();
        if state.is_closed {
            drop(state);
            self.pipe.in_flight.give_back(bytes);
            return Err(Error::ReadTimeout);
        }
        state.pieces.push_back(piece);
        state.queued += bytes;
        // The first look is worth taking when the whole reply, or as much as the pipe holds, is
        // there.
        let waker = if state.queued >= self.pipe.queue_bytes_max {
            state.waker.take()
        } else {
            None
        };
        drop(state);
        if let Some(wake) = waker {
            wake();
        }
        Ok(())
    }

    fn wake_reader(&self) {
        let waker = self.pipe.lock().waker.take();
        if let Some(wake) = waker {
            wake();
        }
    }

    /// Ends the reply, well or with the failure that stopped it.
    pub fn finish(mut self, outcome: Result<()>) {
        self.end(outcome);
    }

    fn end(&mut self, outcome: Result<()>) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        let mut state = self.pipe.lock();
        state.outcome = Some(outcome);
        let waker = state.waker.take();
        drop(state);
        if let Some(wake) = waker {
            wake();
        }
    }
}

impl Drop for ReplyWriter {
    fn drop(&mut self) {
        self.end(Err(Error::Internal(
            "a read ended without an answer".into(),
        )));
    }
}

impl ReplyReader {
    /// Calls `waker` (from the writer's thread) once: when the pipe or the budget is full, or the
    /// reply has ended. At once, where that is so already.
    pub fn wake(&self, waker: impl FnOnce() + Send + 'static) {
        let mut state = self.pipe.lock();
        if state.outcome.is_some() || state.queued >= self.pipe.queue_bytes_max {
            drop(state);
            waker();
        } else {
            state.waker = Some(Box::new(waker));
        }
    }

    /// Bytes in all, where the reply has ended well.
    pub fn bytes_left(&self) -> Option<usize> {
        let state = self.pipe.lock();
        matches!(state.outcome, Some(Ok(()))).then_some(state.queued)
    }

    /// The failure that ended the reply before its first byte.
    pub fn failure(&self) -> Option<Error> {
        let mut state = self.pipe.lock();
        match state.outcome.take() {
            Some(Err(error)) => {
                state.outcome = Some(Err(Error::Internal("a read failed".into())));
                Some(error)
            }
            other => {
                state.outcome = other;
                None
            }
        }
    }

    /// Copies what is there into `into`.
    pub fn read(&self, into: &mut [u8]) -> Result<Read> {
        let mut state = self.pipe.lock();
        let mut count = 0;
        let mut freed = 0;
        while count < into.len() {
            let taken = state.taken;
            let Some(piece) = state.pieces.front() else {
                break;
            };
            let bytes = (piece.len() - taken).min(into.len() - count);
            into[count..count + bytes].copy_from_slice(&piece[taken..taken + bytes]);
            count += bytes;
            if taken + bytes == piece.len() {
                // Memory is free when the last byte of a piece is taken, not sooner: a page is one
                // piece.
                freed += piece.len();
                state.pieces.pop_front();
                state.taken = 0;
            } else {
                state.taken += bytes;
            }
        }
        state.queued -= count;
        if count > 0 {
            drop(state);
            if freed > 0 {
                self.pipe.in_flight.give_back(freed);
            }
            self.pipe.space.notify_one();
            return Ok(Read::Bytes(count));
        }
        match &state.outcome {
            None => Ok(Read::Pending),
            Some(Ok(())) => Ok(Read::End),
            Some(Err(_)) => {
                drop(state);
                Err(self.failure().unwrap_or(Error::ReadTimeout))
            }
        }
    }

    /// Frees what is queued and stops the writer at its next piece.
    pub fn close(&self) {
        let mut state = self.pipe.lock();
        state.is_closed = true;
        state.waker = None;
        let held = std::mem::take(&mut state.queued) + std::mem::take(&mut state.taken);
        state.pieces = VecDeque::new();
        drop(state);
        self.pipe.in_flight.give_back(held);
        self.pipe.space.notify_all();
    }
}

impl Drop for ReplyReader {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;

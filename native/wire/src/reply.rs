//! A reply from a pool thread to the event loop: a bounded pipe of byte chunks, and one budget for
//! all replies in flight, which bounds the memory of replies whose readers stop reading.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use sys::error::{Error, Result};
use sys::pool::{Owner, Turn};

pub use chunk_pool::CHUNK_BYTES;
use in_flight::Charge;
pub use in_flight::InFlight;
use sync::{Condvar, Mutex, MutexGuard};

mod chunk_pool;
mod in_flight;
mod sync;

type Waker = Box<dyn FnOnce() + Send>;

/// How often a writer that waits for its reader looks whether its thread is wanted.
const LOOK: Duration = Duration::from_millis(20);

struct State {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that the reader has already taken.
    taken: usize,
    queued: usize,
    /// Of the budget: the chunks, and those that a page will queue when it is complete.
    charge: Charge,
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

/// The producing end. Dropping it without [`ReplyWriter::finish`] fails the reply for the reader.
pub struct ReplyWriter {
    pipe: Arc<Pipe>,
    deadline: Instant,
    has_queued: bool,
    is_finished: bool,
}

/// The reading end, on the event loop. Never blocks.
pub struct ReplyReader {
    pipe: Arc<Pipe>,
}

/// The result of [`ReplyReader::read`].
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    Bytes(usize),
    /// No data yet: [`ReplyReader::wake`] calls back when there is.
    Pending,
    End,
}

/// A pipe whose writer waits until `deadline` while `queue_bytes_max` are unread, and whose bytes
/// are the owner's part of the budget.
pub fn pipe(
    queue_bytes_max: usize,
    deadline: Instant,
    in_flight: &Arc<InFlight>,
    owner: Owner,
) -> (ReplyWriter, ReplyReader) {
    let pipe = Arc::new(Pipe {
        state: Mutex::new(State {
            chunks: VecDeque::new(),
            taken: 0,
            queued: 0,
            charge: in_flight.charge(owner),
            outcome: None,
            is_closed: false,
            waker: None,
        }),
        space: Condvar::new(),
        queue_bytes_max,
        in_flight: Arc::clone(in_flight),
    });
    (
        ReplyWriter {
            pipe: Arc::clone(&pipe),
            deadline,
            has_queued: false,
            is_finished: false,
        },
        ReplyReader { pipe },
    )
}

impl ReplyWriter {
    /// An empty chunk to write to.
    pub fn chunk(&self) -> Vec<u8> {
        self.pipe.in_flight.chunks.take()
    }

    /// Takes a part of the budget for a chunk that [`ReplyWriter::queue_all`] will queue, and
    /// returns it in the memory that it needs. Fails at once where the owner's part is used up.
    pub fn reserve(&mut self, chunk: Vec<u8>) -> Result<Vec<u8>> {
        let chunk = self.pipe.in_flight.chunks.fit(chunk);
        let mut state = self.pipe.lock();
        if state.is_closed {
            return Err(Error::ReadTimeout);
        }
        if !state.charge.try_grow(chunk.len()) {
            return Err(Error::Overloaded);
        }
        Ok(chunk)
    }

    /// Queues reserved chunks together: a reply whose chunks are all queued at once cannot fail
    /// once its reader has got a part of it.
    pub fn queue_all(&mut self, chunks: Vec<Vec<u8>>) -> Result<()> {
        let mut state = self.pipe.lock();
        if state.is_closed {
            return Err(Error::ReadTimeout);
        }
        for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
            state.queued += chunk.len();
            state.chunks.push_back(chunk);
        }
        Ok(())
    }

    /// Queues one chunk. Where the pipe is full or the owner's part of the budget used up, waits
    /// for the reader, but only
    ///
    /// - before the deadline, and while the reader has not closed;
    /// - for a reader that has something to take: a reply that finds no room for its first chunk is
    ///   refused at once, and one whose reader has taken everything may queue one more chunk;
    /// - while no other owner waits for this thread. Then the rest is made ahead of the reader, in
    ///   the owner's part of the budget, or the reply fails.
    pub fn push(&mut self, chunk: Vec<u8>, turn: Option<&Turn>) -> Result<()> {
        let chunk = self.pipe.in_flight.chunks.fit(chunk);
        let bytes = chunk.len();
        if bytes == 0 {
            return Ok(());
        }
        let mut state = self.pipe.lock();
        while !self.takes(&mut state, bytes, turn)? {
            // Only its reader can make room, so wake it before its pipe is full.
            if let Some(wake) = state.waker.take() {
                drop(state);
                wake();
                state = self.pipe.lock();
                continue;
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::ReadTimeout);
            }
            let waited = self.pipe.space.wait_timeout(state, left.min(LOOK));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.chunks.push_back(chunk);
        state.queued += bytes;
        self.has_queued = true;
        // Otherwise the reader is woken when the pipe is full or the reply has ended.
        let is_full = state.queued >= self.pipe.queue_bytes_max;
        let waker = if is_full { state.waker.take() } else { None };
        drop(state);
        if let Some(wake) = waker {
            wake();
        }
        Ok(())
    }

    /// Whether so many bytes may be queued now, which are then charged; an error where they never
    /// may.
    fn takes(&self, state: &mut State, bytes: usize, turn: Option<&Turn>) -> Result<bool> {
        if state.is_closed {
            return Err(Error::ReadTimeout);
        }
        let is_full = state.queued >= self.pipe.queue_bytes_max;
        let must_wait = is_full || state.charge.is_full(bytes);
        let is_wanted = must_wait && turn.is_some_and(Turn::must_yield);
        if (!is_full || is_wanted) && state.charge.try_grow(bytes) {
            return Ok(true);
        }
        if state.queued > 0 {
            return if is_wanted {
                Err(Error::Overloaded)
            } else {
                Ok(false)
            };
        }
        if !self.has_queued {
            return Err(Error::Overloaded);
        }
        state.charge.grow(bytes);
        Ok(true)
    }

    /// Ends the reply, with success or the failure that stopped it.
    pub fn finish(mut self, outcome: Result<()>) {
        self.end(outcome);
    }

    fn end(&mut self, outcome: Result<()>) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        let mut state = self.pipe.lock();
        // What was reserved and not queued is freed with the writer.
        let kept = state.queued + state.taken;
        state.charge.shrink_to(kept);
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
    /// Calls `waker` once, from the writer's thread, when the pipe is full, its owner's part of the
    /// budget is used up, or the reply has ended. If that is already so, calls it at once.
    pub fn wake(&self, waker: impl FnOnce() + Send + 'static) {
        let mut state = self.pipe.lock();
        if state.outcome.is_some() || state.queued >= self.pipe.queue_bytes_max {
            drop(state);
            waker();
        } else {
            state.waker = Some(Box::new(waker));
            drop(state);
            // A writer that waits without room did not know of a reader to wake.
            self.pipe.space.notify_one();
        }
    }

    /// The number of unread bytes, if the reply has ended with success.
    pub fn bytes_left(&self) -> Option<usize> {
        let state = self.pipe.lock();
        matches!(state.outcome, Some(Ok(()))).then_some(state.queued)
    }

    /// How often replies found no room, since the process started. Rises while others wait for what
    /// this reply holds.
    pub fn refused_count(&self) -> u64 {
        self.pipe.in_flight.refused_count()
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

    /// Copies available bytes into `into`.
    pub fn read(&self, into: &mut [u8]) -> Result<Read> {
        let mut state = self.pipe.lock();
        let mut count = 0;
        while count < into.len() {
            let taken = state.taken;
            let Some(chunk) = state.chunks.front() else {
                break;
            };
            let bytes = (chunk.len() - taken).min(into.len() - count);
            into[count..count + bytes].copy_from_slice(&chunk[taken..taken + bytes]);
            count += bytes;
            if taken + bytes == chunk.len() {
                // A chunk is freed only when its last byte is read.
                if let Some(chunk) = state.chunks.pop_front() {
                    state.charge.shrink(chunk.len());
                    self.pipe.in_flight.chunks.give_back(chunk);
                }
                state.taken = 0;
            } else {
                state.taken += bytes;
            }
        }
        state.queued -= count;
        if count > 0 {
            drop(state);
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

    /// Frees the queue and stops the writer at its next chunk.
    pub fn close(&self) {
        let mut state = self.pipe.lock();
        state.is_closed = true;
        state.waker = None;
        state.queued = 0;
        state.taken = 0;
        state.charge.shrink_to(0);
        let chunks = std::mem::take(&mut state.chunks);
        drop(state);
        for chunk in chunks {
            self.pipe.in_flight.chunks.give_back(chunk);
        }
        self.pipe.space.notify_all();
    }
}

impl Drop for ReplyReader {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(all(test, feature = "model"))]
mod model;
#[cfg(test)]
mod tests;

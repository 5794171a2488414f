//! A reply from a pool thread to the event loop: a bounded pipe of byte chunks, and one budget for
//! all replies in flight, which bounds the memory of replies whose readers stop reading.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sys::error::{Error, Result};

pub use chunk_pool::CHUNK_BYTES;
use chunk_pool::ChunkPool;

mod chunk_pool;

type Waker = Box<dyn FnOnce() + Send>;

/// Bytes of replies produced but not yet read, over all replies of a process.
pub struct InFlight {
    used: Mutex<usize>,
    freed: Condvar,
    bytes_max: usize,
    /// Chunks that were read.
    chunks: ChunkPool,
}

impl InFlight {
    pub fn new(bytes_max: usize) -> Arc<InFlight> {
        Arc::new(InFlight {
            used: Mutex::new(0),
            freed: Condvar::new(),
            bytes_max,
            chunks: ChunkPool::default(),
        })
    }

    pub fn used(&self) -> usize {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self) -> bool {
        self.used() >= self.bytes_max
    }

    /// Waits for space, then takes `bytes`. They may exceed the bound, so at most the bound and one
    /// page or chunk for each producing thread are in flight.
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
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that the reader has already taken.
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

/// The producing end. Dropping it without [`ReplyWriter::finish`] fails the reply for the reader.
pub struct ReplyWriter {
    pipe: Arc<Pipe>,
    deadline: Instant,
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

/// A pipe whose writer waits until `deadline` while `queue_bytes_max` are unread.
pub fn pipe(
    queue_bytes_max: usize,
    deadline: Instant,
    in_flight: Arc<InFlight>,
) -> (ReplyWriter, ReplyReader) {
    let pipe = Arc::new(Pipe {
        state: Mutex::new(State {
            chunks: VecDeque::new(),
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
    /// An empty chunk to write to.
    pub fn chunk(&self) -> Vec<u8> {
        self.pipe.in_flight.chunks.take()
    }

    /// Queues one chunk. Waits for space. Fails at the deadline, or at once if the reader has
    /// closed.
    pub fn push(&mut self, chunk: Vec<u8>) -> Result<()> {
        self.push_all([chunk])
    }

    /// Queues chunks together: none if there is no space for the first. So a reply whose chunks are
    /// all pushed at once cannot fail once its reader has got a part of it.
    pub fn push_all(&mut self, chunks: impl IntoIterator<Item = Vec<u8>>) -> Result<()> {
        let pool = &self.pipe.in_flight.chunks;
        let chunks = chunks.into_iter().filter(|chunk| !chunk.is_empty());
        let chunks: VecDeque<_> = chunks.map(|chunk| pool.fit(chunk)).collect();
        let bytes = chunks.iter().map(Vec::len).sum::<usize>();
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
        // If the budget is full, only readers can free it, so wake this one before its pipe is
        // full.
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
        state.chunks.extend(chunks);
        state.queued += bytes;
        // Wake the reader only when the pipe is full or the reply has ended.
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

    /// Ends the reply, with success or the failure that stopped it.
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
    /// Calls `waker` once, from the writer's thread, when the pipe or the budget is full or the
    /// reply has ended. If that is already so, calls it at once.
    pub fn wake(&self, waker: impl FnOnce() + Send + 'static) {
        let mut state = self.pipe.lock();
        if state.outcome.is_some() || state.queued >= self.pipe.queue_bytes_max {
            drop(state);
            waker();
        } else {
            state.waker = Some(Box::new(waker));
        }
    }

    /// The number of unread bytes, if the reply has ended with success.
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

    /// Copies available bytes into `into`.
    pub fn read(&self, into: &mut [u8]) -> Result<Read> {
        let mut state = self.pipe.lock();
        let mut count = 0;
        let mut freed = 0;
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
                freed += chunk.len();
                if let Some(chunk) = state.chunks.pop_front() {
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

    /// Frees the queue and stops the writer at its next chunk.
    pub fn close(&self) {
        let mut state = self.pipe.lock();
        state.is_closed = true;
        state.waker = None;
        let bytes = std::mem::take(&mut state.queued) + std::mem::take(&mut state.taken);
        let chunks = std::mem::take(&mut state.chunks);
        drop(state);
        for chunk in chunks {
            self.pipe.in_flight.chunks.give_back(chunk);
        }
        self.pipe.in_flight.give_back(bytes);
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

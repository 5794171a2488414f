//! Which requests are answered: those of tokens that JavaScript has registered, as long as nothing
//! has changed that it decided by.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ::sys::boot_clock::boot_ms;
use usage::{FIGURES_AT, LATENCIES_AT};

use crate::cells::Cells;
use crate::counts::Counts;
use crate::latency::{BUCKETS, bucket_of};
use crate::limits::Access;
use crate::rate::Clock;

const NS_PER_MS: i64 = 1_000_000;
/// Cells of the shared memory of the processes: the accessVersion, a double.
pub const ACCESS_VERSION: usize = 0;
/// When the lease of this machine ends, in milliseconds of the boot clock, a double.
pub const LEASE_END: usize = 1;

/// The canonical point reads of one store.
pub trait PointReads {
    /// Appends the whole reply and returns the method's number; `None`, with nothing appended,
    /// where the ordinary way must answer.
    fn answer(&mut self, body: &[u8], out: &mut Vec<u8>) -> Option<usize>;
}

/// What JavaScript decided when it admitted a request with this token.
pub struct Entry<R> {
    /// Value of accessVersion that it was decided at.
    pub version: f64,
    /// Unix milliseconds: from the first on, before the second.
    pub valid_from_ms: f64,
    pub valid_until_ms: f64,
    pub access: Rc<Access>,
    /// What is counted of its scope: the slot of this minute, those of the methods (0: none),
    /// and when the minute ends. A slot is closed no earlier than that of the minute.
    pub usage: Cells,
    pub minute: Slot,
    pub methods_at: Box<[usize]>,
    pub minute_ends_ms: f64,
    pub reads: R,
}

/// A slot of `native/usage` that counts for one key as long as its state is the same.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    /// Its first cell.
    pub at: usize,
    /// The cell of its state, and the state when the entry was made.
    pub state_at: usize,
    pub state: i64,
}

impl Slot {
    pub fn new(cells: &Cells, at: usize, state_at: usize) -> Option<Slot> {
        let state = cells.word(state_at)?.load(SeqCst);
        Some(Slot {
            at,
            state_at,
            state,
        })
    }

    fn is_open(&self, cells: &Cells) -> bool {
        let state = cells.word(self.state_at);
        state.is_some_and(|word| word.load(Relaxed) == self.state)
    }
}

/// Unix nanoseconds in whole milliseconds, by the clock that `Date.now` reads.
pub fn now_ns() -> Option<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis())
        .ok()?
        .checked_mul(NS_PER_MS)
}

/// Adds to a cell that is a double. No other thread writes it.
fn add_one(cell: &AtomicI64) {
    let count = f64::from_bits(cell.load(SeqCst) as u64) + 1.0;
    cell.store(count.to_bits() as i64, SeqCst);
}

/// Adds to the bucket of a duration. No other thread writes it.
fn observe(bucket: &AtomicI32) {
    bucket.store(bucket.load(Relaxed).wrapping_add(1), Relaxed);
}

/// Whether a lease lasts that ends at this time of the boot clock; one without an end needs no
/// clock.
fn is_leased(end_ms: f64) -> bool {
    end_ms == f64::INFINITY || boot_ms() < end_ms
}

/// The tokens of one location at one edge.
pub struct Answers<R> {
    /// Its first cells are accessVersion and the end of the lease.
    version: Cells,
    tokens: HashMap<Box<[u8]>, Entry<R>>,
    tokens_max: usize,
    is_open: bool,
    counts: Counts,
    /// Bytes of a reply that count as one request.
    reply_bytes: usize,
    reply: Vec<u8>,
}

impl<R: PointReads> Answers<R> {
    pub fn new(version: Cells, (tokens_max, reply_bytes): (usize, usize), counts: Counts) -> Self {
        Answers {
            version,
            tokens: HashMap::new(),
            tokens_max,
            is_open: true,
            counts,
            reply_bytes: reply_bytes.max(1),
            reply: Vec::new(),
        }
    }

    /// Answers requests with this token from now on, by this entry. Too many tokens are all
    /// forgotten: each is registered again at its next request.
    pub fn register(&mut self, token: &[u8], entry: Entry<R>) {
        if self.tokens.len() >= self.tokens_max && !self.tokens.contains_key(token) {
            self.tokens.clear();
        }
        self.tokens.insert(token.into(), entry);
    }

    /// Declines everything from now on.
    pub fn close(&mut self) {
        self.is_open = false;
        self.tokens.clear();
    }

    /// What was counted since the last call.
    pub fn take_counts(&mut self) -> Vec<f64> {
        self.counts.take()
    }

    /// The whole reply to a request, or `None` where the ordinary way must answer. Then nothing was
    /// counted or taken.
    pub fn answer(&mut self, token: &[u8], body: &[u8], clock: Clock) -> Option<&[u8]> {
        let entry = self.tokens.get_mut(token).filter(|_| self.is_open)?;
        let version = self.version.word(ACCESS_VERSION)?.load(SeqCst) as u64;
        let lease_end = self.version.word(LEASE_END)?.load(SeqCst) as u64;
        let now_ms = (clock()? / NS_PER_MS) as f64;
        let is_current = f64::from_bits(version) == entry.version
            && is_leased(f64::from_bits(lease_end))
            && now_ms >= entry.valid_from_ms
            && now_ms < entry.valid_until_ms
            && now_ms < entry.minute_ends_ms
            && entry.minute.is_open(&entry.usage);
        let usage = entry.usage.word(entry.minute.at + FIGURES_AT)?;
        // The rate first, which costs a load: a client over it costs no read.
        if !is_current || !entry.access.allows(clock) {
            return None;
        }
        let started = Instant::now();
        self.reply.clear();
        let method = entry.reads.answer(body, &mut self.reply)?;
        let slot = *entry.methods_at.get(method).filter(|slot| **slot > 0)?;
        let calls = entry.usage.word(slot + FIGURES_AT)?;
        let durations_at = (slot + LATENCIES_AT) * 2;
        entry.usage.half(durations_at + BUCKETS - 1)?;
        if entry.access.acquire(clock).is_err() {
            return None;
        }
        let requests = self.reply.len().div_ceil(self.reply_bytes);
        entry.access.charge_reply(1, requests as i64, clock);
        add_one(usage);
        add_one(calls);
        entry.access.release(1);
        let elapsed = started.elapsed();
        if let Some(bucket) = entry.usage.half(durations_at + bucket_of(elapsed)) {
            observe(bucket);
        }
        self.counts.observe(method, elapsed.as_secs_f64());
        Some(&self.reply)
    }
}

#[cfg(all(test, not(feature = "model")))]
mod tests;

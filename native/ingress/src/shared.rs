//! What the tasks of a listener share with the event loop.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sys::shares::{Share, Shares};
use sys::turns::Queue;
use tokio::sync::{oneshot, watch};

use crate::close::Close;
use crate::dialect::Dialect;
use crate::event::Event;

/// Connections that are not admitted yet, or are refused; of one address at most the second number.
const HANDSHAKES_MAX: usize = 256;
const HANDSHAKES_OF_ADDRESS: usize = 64;
/// Connections of an edge, which take up to 256 KiB each while they are filled.
const CONNECTIONS_MAX: usize = 2_048;
/// Many clients may be behind one address.
const CONNECTIONS_OF_ADDRESS: usize = 512;
/// Streams of an edge that are being read, or have no answer yet.
const STREAMS_MAX: usize = 4_096;
/// Bytes of these streams.
const STREAM_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What the event loop says to a connection that waits.
pub enum Verdict {
    Admitted {
        owner: Arc<str>,
        connections: Share<Arc<str>>,
    },
    Refused(Close),
}

/// A connection as the event loop knows it.
pub struct Opened {
    pub connection: quinn::Connection,
    pub verdict: Option<oneshot::Sender<Verdict>>,
    pub paused: watch::Sender<bool>,
}

/// The answer to a transaction.
pub type Answer = (u16, String);

/// What all tasks of a listener share with the event loop.
pub struct Shared {
    pub dialect: Dialect,
    pub queue: Queue<Event>,
    pub connections: Mutex<HashMap<u32, Opened>>,
    pub pending: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
    pub handshakes: Arc<Shares<IpAddr>>,
    pub by_address: Arc<Shares<IpAddr>>,
    pub by_access: Arc<Shares<Arc<str>>>,
    pub streams: Arc<Shares<Arc<str>>>,
    pub bytes: Arc<Shares<Arc<str>>>,
    pub draining: watch::Sender<bool>,
    pub counts: Counts,
    next_connection: AtomicU32,
    next_stream: AtomicU64,
}

/// Counts since the listener was opened.
#[derive(Default)]
pub struct Counts {
    pub handshakes_refused: AtomicU64,
    pub streams_refused: AtomicU64,
    pub streams_reset: AtomicU64,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Shared {
    pub fn new(dialect: Dialect) -> Shared {
        Shared {
            dialect,
            queue: Queue::default(),
            connections: Mutex::default(),
            pending: Mutex::default(),
            handshakes: Shares::bounded(HANDSHAKES_MAX, HANDSHAKES_OF_ADDRESS),
            by_address: Shares::bounded(CONNECTIONS_MAX, CONNECTIONS_OF_ADDRESS),
            by_access: Shares::new(CONNECTIONS_MAX),
            streams: Shares::new(STREAMS_MAX),
            bytes: Shares::new(STREAM_BYTES_MAX),
            draining: watch::Sender::new(false),
            counts: Counts::default(),
            next_connection: AtomicU32::new(1),
            next_stream: AtomicU64::new(1),
        }
    }

    pub fn next_connection(&self) -> u32 {
        self.next_connection.fetch_add(1, Ordering::Relaxed)
    }

    pub fn next_stream(&self) -> u64 {
        self.next_stream.fetch_add(1, Ordering::Relaxed)
    }
}

//! Calls that wait for the event loop, and what it answers.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::status::Refusal;

/// What a server reports.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A client has shown a token, and waits for `admit` or `refuse`.
    Call {
        call: u64,
        /// The listener that it came to, by its place in the options.
        listener: usize,
        address: IpAddr,
        token: String,
        method: &'static str,
        /// It is open until it ends; others are answered at once.
        is_stream: bool,
    },
    /// An admitted stream has ended, with what was sent on it.
    Ended {
        call: u64,
        messages: u64,
        bytes: u64,
    },
    /// Why a stream of the source of a network was not opened, or has ended; for the log.
    Source { network: usize, text: String },
}

/// What the event loop says to a call.
#[derive(Debug)]
pub enum Verdict {
    Admitted {
        network: usize,
        access: Arc<str>,
        /// Filters that the stream may have.
        filters_max: usize,
    },
    Refused(Refusal),
}

/// Calls without a verdict.
#[derive(Default)]
pub struct Pending(Mutex<HashMap<u64, oneshot::Sender<Verdict>>>);

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pending {
    pub fn wait(&self, call: u64) -> oneshot::Receiver<Verdict> {
        let (sender, receiver) = oneshot::channel();
        lock(&self.0).insert(call, sender);
        receiver
    }

    pub fn forget(&self, call: u64) {
        lock(&self.0).remove(&call);
    }

    /// False where the client has left.
    pub fn decide(&self, call: u64, verdict: Verdict) -> bool {
        let sender = lock(&self.0).remove(&call);
        sender.is_some_and(|sender| sender.send(verdict).is_ok())
    }

    pub fn clear(&self) {
        lock(&self.0).clear();
    }
}

//! What all tasks of a server share with the event loop.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sys::shares::Shares;
use sys::turns::{Line, Queue};
use tokio::sync::watch;

use crate::calls::{Event, Pending};
use crate::control::{Control, Controls};
use crate::network::Network;
use crate::pace::Paces;

/// Counts since the server was opened.
#[derive(Default)]
pub struct Counts {
    pub messages: AtomicU64,
    pub bytes: AtomicU64,
    pub refused: AtomicU64,
    pub lagged: AtomicU64,
}

impl Counts {
    pub fn add(&self, bytes: usize) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// The state of a server.
pub struct Shared {
    pub queue: Queue<Event>,
    pub pending: Pending,
    pub controls: Controls,
    pub paces: Paces,
    pub counts: Counts,
    pub draining: watch::Sender<bool>,
    pub waiting: Arc<Shares<IpAddr>>,
    pub version: String,
    pub connections: Arc<Shares<IpAddr>>,
    pub networks: Vec<Arc<Network>>,
    pub next_call: AtomicU64,
    /// Streams that were ended, until they are over.
    pub closing: Mutex<HashMap<u64, Arc<Control>>>,
}

impl Shared {
    pub fn next_call(&self) -> u64 {
        self.next_call.fetch_add(1, Ordering::Relaxed)
    }

    pub fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    pub fn network(&self, index: usize) -> Option<Arc<Network>> {
        self.networks.get(index).cloned()
    }

    /// Queues an event of an access.
    pub fn push_own(&self, access: &Arc<str>, event: Event) {
        self.queue.push(&Line::Access(Arc::clone(access)), event);
    }

    pub fn resident_bytes(&self) -> usize {
        self.networks
            .iter()
            .map(|network| network.resident_bytes())
            .sum()
    }
}

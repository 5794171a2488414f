//! Subscription changes queued for the next pass. The queue has a separate lock, which a pass holds
//! only while it takes the queue.

use std::collections::{BTreeMap, HashSet};

use super::interest::Subscription;
use sys::error::{Error, Result};

/// For each id, the subscription to add, or `None` to remove it.
pub type Queued = BTreeMap<u32, Option<Subscription>>;

pub struct Queue {
    queued: Queued,
    /// Ids that are subscribed or queued to be.
    known: HashSet<u32>,
    /// Sockets whose replays wait.
    held: HashSet<u32>,
    subscriptions_max: usize,
}

impl Queue {
    pub fn new(subscriptions_max: usize) -> Queue {
        Queue {
            queued: BTreeMap::new(),
            known: HashSet::new(),
            held: HashSet::new(),
            subscriptions_max,
        }
    }

    pub fn add(&mut self, id: u32, subscription: Subscription) -> Result<()> {
        if self.known.contains(&id) || self.queued.contains_key(&id) {
            return Err(Error::Internal(format!("subscription {id} is in use")));
        }
        if self.known.len() >= self.subscriptions_max {
            return Err(Error::Internal(format!(
                "over {} subscriptions (subscriptionsMax)",
                self.subscriptions_max
            )));
        }
        self.known.insert(id);
        self.queued.insert(id, Some(subscription));
        Ok(())
    }

    pub fn remove(&mut self, id: u32) {
        if !self.known.remove(&id) {
            return;
        }
        // Where no pass has taken it yet, there is nothing to remove.
        if self.queued.remove(&id).is_none() {
            self.queued.insert(id, None);
        }
    }

    pub fn take(&mut self) -> Queued {
        std::mem::take(&mut self.queued)
    }

    pub fn hold(&mut self, socket: u32, is_held: bool) {
        if is_held {
            self.held.insert(socket);
        } else {
            self.held.remove(&socket);
        }
    }

    pub fn held(&self) -> HashSet<u32> {
        self.held.clone()
    }

    /// Forgets subscriptions that ended in a pass.
    pub fn forget(&mut self, ended: &[u32]) {
        for id in ended {
            self.known.remove(id);
            self.queued.remove(id);
        }
    }

    pub fn count(&self) -> usize {
        self.known.len()
    }
}

//! What the event loop wants changed, until the next pass takes it. It has a lock of its own, which
//! no pass holds while it works.

use std::collections::{BTreeMap, HashSet};

use super::interest::Interest;
use sys::error::{Error, Result};

/// By id: the subscription to add, or `None` for the one to remove.
pub type Queued = BTreeMap<u32, Option<Interest>>;

pub struct Queue {
    queued: Queued,
    /// Ids that are subscribed, or queued to be.
    known: HashSet<u32>,
    subscriptions_max: usize,
}

impl Queue {
    pub fn new(subscriptions_max: usize) -> Queue {
        Queue {
            queued: BTreeMap::new(),
            known: HashSet::new(),
            subscriptions_max,
        }
    }

    pub fn add(&mut self, id: u32, interest: Interest) -> Result<()> {
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
        self.queued.insert(id, Some(interest));
        Ok(())
    }

    pub fn remove(&mut self, id: u32) {
        if !self.known.remove(&id) {
            return;
        }
        // What no pass has seen yet need not be taken back.
        if self.queued.remove(&id).is_none() {
            self.queued.insert(id, None);
        }
    }

    pub fn take(&mut self) -> Queued {
        std::mem::take(&mut self.queued)
    }

    /// These ended by themselves.
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

//! Subscriptions to signatures and their state.

use std::collections::{BTreeMap, HashMap};

use super::subs::Subs;

/// What a client of a signature waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaited {
    pub is_finalized: bool,
    pub wants_received: bool,
}

/// The outcome of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub slot: u64,
    /// Encoded as in the feed; `None` is success.
    pub error: Option<Box<[u8]>>,
}

/// A pending frame of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    pub id: u32,
    /// The frame that precedes the outcome's.
    pub is_received: bool,
    pub outcome: Outcome,
}

/// The state of a subscription.
enum Stage {
    Unseen([u8; 64]),
    /// The transaction's slot is not final yet.
    Waiting {
        slot: u64,
    },
    /// The last frame is pending.
    Settled,
}

#[derive(Default)]
pub struct Signatures {
    stages: HashMap<u32, Stage>,
    unseen: HashMap<[u8; 64], Subs<Awaited>>,
    /// Keyed by slot and subscription.
    waiting: BTreeMap<(u64, u32), Option<Box<[u8]>>>,
}

impl Signatures {
    pub fn add(&mut self, id: u32, signature: [u8; 64], awaited: Awaited) {
        self.stages.insert(id, Stage::Unseen(signature));
        self.unseen
            .entry(signature)
            .or_default()
            .insert(id, awaited);
    }

    pub fn remove(&mut self, id: u32) {
        match self.stages.remove(&id) {
            Some(Stage::Unseen(signature)) => {
                if let Some(subs) = self.unseen.get_mut(&signature) {
                    subs.remove(id);
                    if subs.is_empty() {
                        self.unseen.remove(&signature);
                    }
                }
            }
            Some(Stage::Waiting { slot }) => {
                self.waiting.remove(&(slot, id));
            }
            Some(Stage::Settled) | None => {}
        }
    }

    pub fn has_unseen(&self) -> bool {
        !self.unseen.is_empty()
    }

    pub fn all_unseen(&self) -> Vec<[u8; 64]> {
        self.unseen.keys().copied().collect()
    }

    /// Records a transaction and appends the frames that it causes. `root` is the newest final
    /// slot.
    pub fn see(
        &mut self,
        signature: &[u8; 64],
        outcome: impl FnOnce() -> Outcome,
        root: u64,
        pending: &mut Vec<Settled>,
    ) {
        let Some(subs) = self.unseen.remove(signature) else {
            return;
        };
        let outcome = outcome();
        let slot = outcome.slot;
        for (id, awaited) in subs.iter() {
            let settled = |is_received| Settled {
                id,
                is_received,
                outcome: outcome.clone(),
            };
            if awaited.wants_received {
                pending.push(settled(true));
            }
            if awaited.is_finalized && slot > root {
                self.waiting.insert((slot, id), outcome.error.clone());
                self.stages.insert(id, Stage::Waiting { slot });
            } else {
                pending.push(settled(false));
                self.stages.insert(id, Stage::Settled);
            }
        }
    }

    /// Appends the frames of slots that are now final.
    pub fn finalize(&mut self, root: u64, pending: &mut Vec<Settled>) {
        let later = self.waiting.split_off(&(root.saturating_add(1), 0));
        let now = std::mem::replace(&mut self.waiting, later);
        for ((slot, id), error) in now {
            self.stages.insert(id, Stage::Settled);
            pending.push(Settled {
                id,
                is_received: false,
                outcome: Outcome { slot, error },
            });
        }
    }
}

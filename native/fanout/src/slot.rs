//! One slot whose frames are being written, over one or more passes.

use std::ops::ControlFlow;

use super::cursor::{Cursor, Place, account_key, transaction_key};
use super::frames::{Frames, To};
use super::index::{Hit, Index, Kind};
use super::signatures::{Outcome, Settled};
use super::transactions::Seen;
use store::{Change, FeedEnd, FeedPosition, Snapshot, Tip};
use sys::error::Result;

/// Overhead of a change in that count, beside its data or keys.
const CHANGE_BYTES: usize = 128;

/// What a pass may read, and what it has read.
pub struct Work {
    /// Bytes of changes.
    left: usize,
    /// Changes read.
    pub changes: u64,
    /// The last slot found whose changes are damaged.
    pub damaged_slot: Option<u64>,
}

impl Work {
    pub fn new(bytes_max: usize) -> Work {
        Work {
            left: bytes_max,
            changes: 0,
            damaged_slot: None,
        }
    }

    pub fn is_done(&self) -> bool {
        self.left == 0
    }
}

/// Subscriptions that begin within a slot, after an account or a transaction of it.
#[derive(Default)]
pub struct Entering(Vec<(u32, Place)>);

impl Entering {
    pub fn push(&mut self, id: u32, place: Place) {
        if matches!(place, Place::Account(_) | Place::Transaction(_)) {
            self.0.push((id, place));
        }
    }

    /// Subscriptions whose transaction is not in the slot.
    fn into_astray(self) -> Vec<u32> {
        let of_transactions = |(id, place)| matches!(place, Place::Transaction(_)).then_some(id);
        self.0.into_iter().filter_map(of_transactions).collect()
    }

    /// Removes the subscriptions that have been notified of the change already.
    fn skip(&mut self, change: &Change<'_>, hits: &mut Vec<Hit>) {
        if self.0.is_empty() {
            return;
        }
        let now = match change {
            Change::Account { pubkey, .. } => Place::Account(account_key(pubkey)),
            Change::Status { signature, .. } | Change::Transaction { signature, .. } => {
                Place::Transaction(transaction_key(signature))
            }
        };
        hits.retain(|hit| {
            !self.0.iter().any(|(id, after)| {
                *id == hit.id
                    && match (*after, now) {
                        (Place::Account(after), Place::Account(now)) => now <= after,
                        (Place::Account(_), _) => false,
                        // Until it was found below.
                        _ => true,
                    }
            })
        });
        self.0
            .retain(|(_, after)| !matches!(after, Place::Transaction(_)) || *after != now);
    }
}

/// Progress in a slot.
pub struct Slot {
    pub block: Tip,
    /// The next change. If some of its frames were written, the subscriptions that still need
    /// theirs.
    at: FeedPosition,
    unsent: Option<Vec<Hit>>,
    /// Frames of signatures, written after all others.
    pub settled: Vec<Settled>,
    entering: Entering,
    /// Subscriptions that should have begun within the slot, after a change that it has not.
    pub astray: Vec<u32>,
    /// Whether all changes have been written.
    pub is_sent: bool,
}

/// How reading the changes of a slot ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fed {
    Whole,
    /// The pass is full.
    Full,
    /// The store has removed the slot's changes.
    Lost,
    /// They, or the rest of them, cannot be read any more.
    Damaged,
}

impl Slot {
    pub fn new(block: Tip, entering: Entering) -> Slot {
        Slot {
            block,
            at: FeedPosition::default(),
            unsent: None,
            settled: Vec::new(),
            entering,
            astray: Vec::new(),
            is_sent: false,
        }
    }

    /// Writes the frames of the next changes.
    pub fn feed(
        &mut self,
        index: &mut Index,
        snapshot: &Snapshot<'_>,
        frames: &mut Frames,
        work: &mut Work,
    ) -> Result<Fed> {
        let (wants_accounts, wants_transactions) =
            (index.wants_accounts(), index.wants_transactions());
        if !wants_accounts && !wants_transactions {
            return Ok(Fed::Whole);
        }
        let (slot, root) = (self.block.slot, self.block.root);
        let mut is_done = false;
        let block = self.block;
        let mut unsent = self.unsent.take();
        let mut rest = None;
        let (settled, entering) = (&mut self.settled, &mut self.entering);
        let at = if wants_accounts {
            self.at
        } else {
            self.at.without_accounts()
        };
        let end = snapshot.feed_from(slot, at, &mut |change| {
            is_done = !wants_transactions && !matches!(change, Change::Account { .. });
            if is_done || frames.is_full() || work.is_done() {
                return Ok(ControlFlow::Break(()));
            }
            work.left = work.left.saturating_sub(bytes_of(&change));
            let hits = unsent.take().unwrap_or_else(|| {
                work.changes += 1;
                let mut hits = match_subscriptions(index, &change, slot, root, settled);
                entering.skip(&change, &mut hits);
                hits
            });
            frames.next_change();
            for (done, hit) in hits.iter().enumerate() {
                if frames.is_full() {
                    rest = Some(hits[done..].to_vec());
                    return Ok(ControlFlow::Break(()));
                }
                // Some ids may have been removed since its first frame was written.
                if let Some(has_cursors) = index.has_cursors(hit.id) {
                    let cursor = has_cursors.then(|| cursor_after(&block, &change));
                    let to = To { id: hit.id, cursor };
                    write(frames, to, hit.kind, &change, slot, snapshot)?;
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if matches!(end, FeedEnd::Whole(_)) {
            self.astray = std::mem::take(&mut self.entering).into_astray();
        }
        Ok(match end {
            FeedEnd::Absent => Fed::Lost,
            FeedEnd::Damaged => {
                work.damaged_slot = Some(slot);
                Fed::Damaged
            }
            FeedEnd::Whole(_) => Fed::Whole,
            FeedEnd::Stopped(_) if is_done => Fed::Whole,
            FeedEnd::Stopped(position) => {
                (self.at, self.unsent) = (position, rest.or(unsent));
                Fed::Full
            }
        })
    }
}

fn bytes_of(change: &Change<'_>) -> usize {
    CHANGE_BYTES
        + match change {
            Change::Account { account, .. } => account.data.len(),
            Change::Transaction {
                keys, logs, full, ..
            } => keys.as_flattened().len() + full.map_or(logs.byte_count(), <[u8]>::len),
            Change::Status { .. } => 0,
        }
}

/// Returns the subscriptions that match a change. Frames of its signature go to `settled`.
fn match_subscriptions(
    index: &mut Index,
    change: &Change<'_>,
    slot: u64,
    root: u64,
    settled: &mut Vec<Settled>,
) -> Vec<Hit> {
    let mut see = |index: &mut Index, signature: &[u8; 64], error: Option<&[u8]>| {
        if index.signatures.has_unseen() {
            index.comparisons += 1;
            let error = error.map(Box::from);
            let outcome = || Outcome { slot, error };
            index.signatures.see(signature, outcome, root, settled);
        }
    };
    match *change {
        Change::Account {
            pubkey,
            ref account,
            ..
        } => index.account_hits(pubkey, account),
        Change::Status { signature, error } => {
            see(index, signature, error);
            Vec::new()
        }
        Change::Transaction {
            signature,
            error,
            is_vote,
            keys,
            ..
        } => {
            see(index, signature, error);
            let mut hits = index.logs_hits(is_vote, keys);
            let seen = Seen {
                signature,
                is_vote,
                is_failed: error.is_some(),
                keys,
            };
            index.transaction_hits(&seen, &mut hits);
            hits
        }
    }
}

/// The place after the frames of a change.
fn cursor_after(block: &Tip, change: &Change<'_>) -> Cursor {
    let place = match change {
        Change::Account { pubkey, .. } => Place::Account(account_key(pubkey)),
        Change::Status { signature, .. } | Change::Transaction { signature, .. } => {
            Place::Transaction(transaction_key(signature))
        }
    };
    Cursor::new(block, place)
}

fn write(
    frames: &mut Frames,
    to: To,
    kind: Kind,
    change: &Change<'_>,
    slot: u64,
    snapshot: &Snapshot<'_>,
) -> Result<()> {
    match (kind, change) {
        (Kind::Account(view), Change::Account { account, .. }) => {
            frames.account(to, account, view, snapshot)
        }
        (
            Kind::Program(view),
            Change::Account {
                pubkey, account, ..
            },
        ) => frames.program(to, pubkey, account, view, snapshot),
        (
            Kind::Logs,
            Change::Transaction {
                signature,
                error,
                logs,
                ..
            },
        ) => frames.logs(to, slot, signature, *error, *logs),
        (
            Kind::Transaction(view),
            Change::Transaction {
                signature, full, ..
            },
        ) => frames.transaction(to, slot, signature, *full, view),
        // A hit always has the kind of its change.
        _ => Ok(()),
    }
}

//! One slot whose frames are being written, over one or more passes.

use std::ops::ControlFlow;

use super::frames::Frames;
use super::index::{Hit, Index, Kind};
use super::signatures::{Outcome, Settled};
use store::{Change, FeedEnd, FeedPosition, Snapshot, Tip};
use sys::error::Result;

/// Bytes of changes that one pass reads. A long-lived snapshot keeps its pages from reuse.
const LOOKED_AT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Overhead of a change in that count, beside its data or keys.
const CHANGE_BYTES: usize = 128;

/// Progress in a slot.
pub struct Slot {
    pub block: Tip,
    /// The next change. If some of its frames were written, the subscriptions that still need
    /// theirs.
    at: FeedPosition,
    unsent: Option<Vec<Hit>>,
    /// Frames of signatures, written after all others.
    pub settled: Vec<Settled>,
    /// Whether all changes have been written.
    pub is_sent: bool,
}

/// How reading the changes of a slot ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fed {
    Whole,
    /// The pass is full.
    Full,
    /// The store has deleted the slot's changes.
    Lost,
}

impl Slot {
    pub fn new(block: Tip) -> Slot {
        Slot {
            block,
            at: FeedPosition::default(),
            unsent: None,
            settled: Vec::new(),
            is_sent: false,
        }
    }

    /// Writes the frames of the next changes. `changes` counts the changes read.
    pub fn feed(
        &mut self,
        index: &mut Index,
        snapshot: &Snapshot<'_>,
        frames: &mut Frames,
        changes: &mut u64,
    ) -> Result<Fed> {
        let (wants_accounts, wants_transactions) =
            (index.wants_accounts(), index.wants_transactions());
        if !wants_accounts && !wants_transactions {
            return Ok(Fed::Whole);
        }
        let (slot, root) = (self.block.slot, self.block.root);
        let (mut looked_at, mut is_done) = (0, false);
        let mut unsent = self.unsent.take();
        let mut rest = None;
        let settled = &mut self.settled;
        let end = snapshot.feed_from(slot, self.at, &mut |change| {
            is_done = !wants_transactions && !matches!(change, Change::Account { .. });
            if is_done || frames.is_full() || looked_at >= LOOKED_AT_BYTES_MAX {
                return Ok(ControlFlow::Break(()));
            }
            looked_at += bytes_of(&change);
            let hits = unsent.take().unwrap_or_else(|| {
                *changes += 1;
                match_subscriptions(index, &change, slot, root, settled)
            });
            frames.next_change();
            for (done, hit) in hits.iter().enumerate() {
                if frames.is_full() {
                    rest = Some(hits[done..].to_vec());
                    return Ok(ControlFlow::Break(()));
                }
                // Some ids may have been removed since its first frame was written.
                if index.contains(hit.id) {
                    write(frames, hit, &change, slot, snapshot)?;
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(match end {
            FeedEnd::Absent => Fed::Lost,
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
            Change::Transaction { keys, logs, .. } => keys.as_flattened().len() + logs.byte_count(),
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
            index.logs_hits(is_vote, keys)
        }
    }
}

fn write(
    frames: &mut Frames,
    hit: &Hit,
    change: &Change<'_>,
    slot: u64,
    snapshot: &Snapshot<'_>,
) -> Result<()> {
    match (hit.kind, change) {
        (Kind::Account(view), Change::Account { account, .. }) => {
            frames.account(hit.id, account, view, snapshot)
        }
        (Kind::Program(view), Change::Account { pubkey, account }) => {
            frames.program(hit.id, pubkey, account, view, snapshot)
        }
        (
            Kind::Logs,
            Change::Transaction {
                signature,
                error,
                logs,
                ..
            },
        ) => frames.logs(hit.id, slot, signature, *error, *logs),
        // A hit always has the kind of its change.
        _ => Ok(()),
    }
}

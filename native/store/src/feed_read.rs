//! Reading what changed in a slot, from its beginning or from where an earlier reading stopped.

use std::ops::{Bound, ControlFlow};

use super::change::{self, Change};
use super::feed::PIECE_BYTES;
use super::keys;
use super::snapshot::Snapshot;
use sys::error::{Error, Result};

/// A place before one of a slot's changes; the default is before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedPosition(u64);

impl FeedPosition {
    /// Bytes of the changes before it.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

/// How the reading of a slot's changes ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedEnd {
    /// The slot is not held: dropped, not yet applied, or skipped by the chain.
    Absent,
    /// Every change was visited; the place after the last.
    Whole(FeedPosition),
    /// The visitor stopped at the change that begins here.
    Stopped(FeedPosition),
}

/// What is done with a change: go on after it, or stop before it.
pub type FeedVisit<'v> = dyn FnMut(Change<'_>) -> Result<ControlFlow<()>> + 'v;

impl Snapshot<'_> {
    /// Visits the changes of a slot, accounts in order of pubkeys before transactions. Answers
    /// false where the slot is not held.
    pub fn feed(&self, slot: u64, visit: &mut dyn FnMut(Change<'_>) -> Result<()>) -> Result<bool> {
        let end = self.feed_from(slot, FeedPosition::default(), &mut |change| {
            visit(change)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(end != FeedEnd::Absent)
    }

    /// Visits the changes of a slot from `place` on. Holds one change in memory at a time.
    pub fn feed_from(
        &self,
        slot: u64,
        FeedPosition(mut at): FeedPosition,
        visit: &mut FeedVisit<'_>,
    ) -> Result<FeedEnd> {
        let feed = self.tables().feed;
        if feed.get(&self.txn, &keys::piece(slot, 0))?.is_none() {
            return Ok(FeedEnd::Absent);
        }
        // Every piece but the last is full, so a place says in which one it lies.
        let piece_bytes = PIECE_BYTES as u64;
        let sequence = u32::try_from(at / piece_bytes + 1).unwrap_or(u32::MAX);
        let first = keys::piece(slot, sequence);
        let last = keys::piece(slot, u32::MAX);
        let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        let mut rows = feed.range(&self.txn, &range)?;
        let mut run = Vec::new();
        let mut begin = (at % piece_bytes) as usize;
        let damaged = || Error::Internal(format!("the feed of slot {slot} is damaged"));
        loop {
            let rest = run.get(begin..).unwrap_or_default();
            if let Some(length) = change::first_length(rest)
                && let Some(bytes) = rest.get(..length)
            {
                let change = change::decode(bytes).ok_or_else(damaged)?;
                if visit(change)?.is_break() {
                    return Ok(FeedEnd::Stopped(FeedPosition(at)));
                }
                begin += length;
                at += length as u64;
                continue;
            }
            match rows.next().transpose()? {
                Some((_, piece)) => {
                    if begin <= run.len() {
                        run.drain(..begin);
                        begin = 0;
                    }
                    run.extend_from_slice(piece);
                }
                None if begin == run.len() => return Ok(FeedEnd::Whole(FeedPosition(at))),
                None => return Err(damaged()),
            }
        }
    }

    /// The oldest slot whose changes are held.
    pub fn feed_oldest_slot(&self) -> Result<Option<u64>> {
        Ok(self
            .tables()
            .feed
            .first(&self.txn)?
            .map(|(key, _)| keys::slot_of(key)))
    }

    /// The next slot whose changes are held.
    pub(super) fn feed_slot_after(&self, slot: u64) -> Result<Option<u64>> {
        let last = keys::piece(slot, u32::MAX);
        let range = (Bound::Excluded(&last[..]), Bound::Unbounded);
        let found = self.tables().feed.range(&self.txn, &range)?.next();
        Ok(found.transpose()?.map(|(key, _)| keys::slot_of(key)))
    }
}

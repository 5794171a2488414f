//! Reads the changes of a slot, from the first one or from a saved position.

use std::ops::{Bound, ControlFlow};

use crate::history::feed_write::CHUNK_BYTES;
use crate::rows::change::{self, Change};
use crate::rows::keys;
use crate::snapshot::Snapshot;
use sys::error::{Error, Result};

/// A position before one of a slot's changes; the default is before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedPosition(u64);

impl FeedPosition {
    /// The total size in bytes of the changes before this position.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

/// How a read of a slot's changes ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedEnd {
    /// The slot is not stored: it was dropped, is not yet applied, or was skipped by the chain.
    Absent,
    /// Every change was visited; the position after the last change.
    Whole(FeedPosition),
    /// The visitor stopped; the position before the change it stopped at.
    Stopped(FeedPosition),
}

/// Handles one change: continues after it, or stops before it.
pub type FeedVisit<'v> = dyn FnMut(Change<'_>) -> Result<ControlFlow<()>> + 'v;

impl Snapshot<'_> {
    /// Visits the changes of a slot: accounts in order of pubkeys, then transactions. Returns false
    /// if the slot is not stored.
    pub fn feed(&self, slot: u64, visit: &mut dyn FnMut(Change<'_>) -> Result<()>) -> Result<bool> {
        let end = self.feed_from(slot, FeedPosition::default(), &mut |change| {
            visit(change)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(end != FeedEnd::Absent)
    }

    /// Visits the changes of a slot from `position` on. Keeps one change in memory at a time.
    pub fn feed_from(
        &self,
        slot: u64,
        FeedPosition(mut at): FeedPosition,
        visit: &mut FeedVisit<'_>,
    ) -> Result<FeedEnd> {
        let feed = self.tables().feed;
        if feed.get(&self.txn, &keys::chunk(slot, 0))?.is_none() {
            return Ok(FeedEnd::Absent);
        }
        // Every chunk but the last is full, so the position determines the chunk.
        let chunk_bytes = CHUNK_BYTES as u64;
        let sequence = u32::try_from(at / chunk_bytes + 1).unwrap_or(u32::MAX);
        let first = keys::chunk(slot, sequence);
        let last = keys::chunk(slot, u32::MAX);
        let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        let mut rows = feed.range(&self.txn, &range)?;
        let mut run = Vec::new();
        let mut begin = (at % chunk_bytes) as usize;
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
                Some((_, chunk)) => {
                    if begin <= run.len() {
                        run.drain(..begin);
                        begin = 0;
                    }
                    run.extend_from_slice(chunk);
                }
                None if begin == run.len() => return Ok(FeedEnd::Whole(FeedPosition(at))),
                None => return Err(damaged()),
            }
        }
    }

    /// The oldest slot whose changes are stored.
    pub fn feed_oldest_slot(&self) -> Result<Option<u64>> {
        Ok(self
            .tables()
            .feed
            .first(&self.txn)?
            .map(|(key, _)| keys::slot_of(key)))
    }

    /// The next slot whose changes are stored.
    pub(crate) fn feed_slot_after(&self, slot: u64) -> Result<Option<u64>> {
        let last = keys::chunk(slot, u32::MAX);
        let range = (Bound::Excluded(&last[..]), Bound::Unbounded);
        let found = self.tables().feed.range(&self.txn, &range)?.next();
        Ok(found.transpose()?.map(|(key, _)| keys::slot_of(key)))
    }
}

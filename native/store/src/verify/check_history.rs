//! Checks the retained history: the last blocks, the feed of changes, and the fees.

use std::ops::ControlFlow;

use crate::history::feed_read::{FeedEnd, FeedPosition};
use crate::history::fees::{FEES_BYTES, fees_bytes};
use crate::rows::record::Tip;
use crate::rows::{keys, record};
use crate::snapshot::Snapshot;
use crate::store::Store;
use sys::error::{Error, Result};

impl Store {
    /// Appends the differences as sentences. Keeps one change in memory at a time.
    pub(crate) fn check_kept(&self, found: &mut Vec<String>) -> Result<()> {
        let snapshot = self.snapshot()?;
        check_blocks(&snapshot, found)?;
        check_feed(&snapshot, found)?;
        let mut last = None;
        for row in snapshot.tables().fees.iter(&snapshot.txn)? {
            let slot = keys::slot_of(row?.0);
            if last.replace(slot) != Some(slot) {
                check_fee_slot(&snapshot, slot, found)?;
            }
        }
        check_fees_bytes(&snapshot, found)
    }
}

/// Each block follows its predecessor; roots never decrease and never exceed the block's slot.
pub(crate) fn check_blocks(snapshot: &Snapshot<'_>, found: &mut Vec<String>) -> Result<()> {
    let mut before: Option<Tip> = None;
    for row in snapshot.tables().blocks.iter(&snapshot.txn)? {
        let (key, value) = row?;
        let slot = keys::slot_of(key);
        let Some(block) = record::decode_block(slot, value) else {
            found.push(format!("blocks: the row of slot {slot} is damaged"));
            continue;
        };
        if let Some(before) = before {
            if block.parent_slot != before.slot {
                found.push(format!(
                    "blocks: slot {slot} does not follow slot {}",
                    before.slot
                ));
            }
            if block.root < before.root {
                found.push(format!("blocks: the root of slot {slot} decreases"));
            }
        }
        if block.root > slot {
            found.push(format!("blocks: the root of slot {slot} lies after it"));
        }
        before = Some(block);
    }
    if before.is_none() && !snapshot.tables().accounts.is_empty(&snapshot.txn)? {
        found.push("blocks: there is none, but accounts".to_owned());
    }
    Ok(())
}

/// Checks the changes of each block.
fn check_feed(snapshot: &Snapshot<'_>, found: &mut Vec<String>) -> Result<()> {
    for row in snapshot.tables().blocks.iter(&snapshot.txn)? {
        check_feed_slot(snapshot, keys::slot_of(row?.0), found)?;
    }
    Ok(())
}

/// The changes of a slot can be read, and are as many as its row says. Those of old slots may be
/// removed.
pub(crate) fn check_feed_slot(
    snapshot: &Snapshot<'_>,
    slot: u64,
    found: &mut Vec<String>,
) -> Result<()> {
    let Some(location) = snapshot.feed_location(slot)? else {
        return Ok(());
    };
    let mut changes = 0;
    let end = snapshot.feed_from(slot, FeedPosition::default(), &mut |_| {
        changes += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    match end {
        FeedEnd::Whole(end)
            if (changes, end.bytes()) != (location.changes, location.changes_bytes) =>
        {
            found.push(format!(
                "feed: slot {slot} has {changes} changes of {} bytes, not {} of {}",
                end.bytes(),
                location.changes,
                location.changes_bytes
            ));
        }
        FeedEnd::Whole(_) if snapshot.feed_parts(slot, true, &mut |_| ())? == FeedEnd::Damaged => {
            found.push(format!("feed: slot {slot} has a damaged block"));
        }
        FeedEnd::Damaged => found.push(format!("feed: slot {slot} is damaged")),
        FeedEnd::Absent | FeedEnd::Whole(_) | FeedEnd::Stopped(_) => {}
    }
    Ok(())
}

/// The fees of a slot belong to a block, and can be read.
pub(crate) fn check_fee_slot(
    snapshot: &Snapshot<'_>,
    slot: u64,
    found: &mut Vec<String>,
) -> Result<()> {
    if snapshot.block(slot)?.is_none() {
        found.push(format!("fees: slot {slot} is no block's"));
    }
    match snapshot.fees(slot) {
        Ok(Some(_)) => {}
        Ok(None) | Err(Error::Internal(_)) => {
            found.push(format!("fees: slot {slot} is damaged"));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// The sizes of the fees of all slots add up to the total in `meta`.
pub(crate) fn check_fees_bytes(snapshot: &Snapshot<'_>, found: &mut Vec<String>) -> Result<()> {
    let (fees, meta) = (snapshot.tables().fees, snapshot.tables().meta);
    let mut total = 0;
    // A step for each slot: up to the first row of the next.
    let mut next = fees
        .first(&snapshot.txn)?
        .map(|(key, _)| keys::slot_of(key));
    while let Some(slot) = next {
        // A slot without its first row is reported separately.
        let Some(head) = fees.get(&snapshot.txn, &keys::chunk(slot, 0))? else {
            return Ok(());
        };
        total += fees_bytes(head);
        let after = fees.get_greater_than(&snapshot.txn, &keys::chunk(slot, u32::MAX))?;
        next = after.map(|(key, _)| keys::slot_of(key));
    }
    let stored = meta.get(&snapshot.txn, FEES_BYTES)?.map_or(0, fees_bytes);
    if stored != total {
        found.push(format!("fees: they have {total} bytes, not {stored}"));
    }
    Ok(())
}

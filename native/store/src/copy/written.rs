//! Finds what was written between two commits, in the segments of the feed.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::copy::bounds::{Bounds, Step, Stop};
use crate::history::feed_read::{FeedEnd, Written};
use crate::rows::keys::{self, Indexed, MintId};
use crate::rows::record::{self, Tip};
use crate::snapshot::Snapshot;
use crate::tables::Extent;
use primitives::Pubkey;

/// Whatever the commits may have changed, and perhaps more.
#[derive(Default)]
pub(super) struct Touched {
    /// Those whose row is in the copy, in ascending order.
    pub accounts: Vec<Pubkey>,
    /// Programs of the accounts, after each of their writes.
    pub programs: BTreeSet<Pubkey>,
    /// Mints of the accounts, after each of their writes, and those whose row was refilled.
    pub mints: BTreeSet<MintId>,
}

/// What the blocks after `since` have written, up to the snapshot's.
pub(super) fn written_since(
    since: Option<&Tip>,
    snapshot: &Snapshot<'_>,
    there: &Extent,
    bounds: &Bounds,
) -> Step<Touched> {
    let mut touched = Touched::default();
    let first = since.map_or(0, |since| since.slot);
    if !is_known(since, snapshot)? {
        return Err(Stop::Lost(format!("slot {first} is no longer stored")));
    }
    let first = first.to_be_bytes();
    let after = match since {
        Some(_) => Bound::Excluded(&first[..]),
        None => Bound::Unbounded,
    };
    let blocks = &snapshot.tables().blocks;
    for row in blocks.range(&snapshot.txn, &(after, Bound::Unbounded))? {
        let (key, value) = row?;
        let slot = keys::slot_of(key);
        let end = match record::decode_location(value) {
            Some(_) => snapshot.feed_writes(slot, &mut |write| touched.add(write, there))?,
            None => FeedEnd::Absent,
        };
        match end {
            FeedEnd::Whole(_) => {}
            FeedEnd::Damaged => {
                let text = format!("what changed in slot {slot} is damaged");
                return Err(Stop::Lost(text));
            }
            FeedEnd::Absent | FeedEnd::Stopped(_) => {
                return Err(Stop::Lost(format!(
                    "what changed in slot {slot} is not kept, raise store.feedBytesMax or free \
                     space on the disk"
                )));
            }
        }
        if touched.accounts.len() > bounds.accounts {
            touched.sort();
            if touched.accounts.len() > bounds.accounts {
                return Err(Stop::Lost(format!(
                    "{} accounts were written between two steps",
                    touched.accounts.len()
                )));
            }
        }
    }
    touched.sort();
    Ok(touched)
}

/// Whether the blocks after this one are all stored.
fn is_known(since: Option<&Tip>, snapshot: &Snapshot<'_>) -> sys::error::Result<bool> {
    Ok(match (since, snapshot.tip()) {
        (Some(since), _) => snapshot.block(since.slot)?.as_ref() == Some(since),
        // Of many blocks the first ones may be gone.
        (None, tip) => tip.is_none(),
    })
}

impl Touched {
    fn add(&mut self, write: Written<'_>, there: &Extent) {
        match write {
            Written::Holders(mint) => drop(self.mints.insert(mint)),
            Written::Account(pubkey, account) => {
                if there.has(pubkey) {
                    self.accounts.push(*pubkey);
                }
                // Of those after it only the rows of other tables matter, and none is there yet.
                if *there != Extent::Everything {
                    return;
                }
                let indexed = Indexed::of(&account);
                self.programs.insert(indexed.owner);
                let holder = indexed.holder(pubkey);
                self.mints.extend(holder.map(|(mint, _)| mint));
            }
        }
    }

    fn sort(&mut self) {
        self.accounts.sort_unstable();
        self.accounts.dedup();
    }
}

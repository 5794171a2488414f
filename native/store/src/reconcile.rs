//! What a sweep finds: accounts that an upstream RPC shows otherwise than they are stored, because
//! the feed never sent a change. A correction waits for the next block and becomes part of it,
//! so that there is still one transaction for each block, the tip does not move without one, and
//! subscribers hear of the change.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{MutexGuard, PoisonError};

use heed::RoTxn;

use super::open::Store;
use super::record::{AccountRef, AccountUpdate};
use super::snapshot::{Snapshot, decode};
use crate::row_codec::{PackedRow, PackedRows};
use primitives::Pubkey;
use sys::error::Result;

/// What a waiting correction takes beside its data.
const OVERHEAD_BYTES: usize = 128;

/// The corrections of one store.
#[derive(Default)]
pub(super) struct Corrections {
    waiting: BTreeMap<Pubkey, Correction>,
    bytes: usize,
    corrected: u64,
}

/// An account as it was in a slot.
struct Correction {
    slot: u64,
    update: AccountUpdate,
}

/// What a comparison of rows with the store said of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compared {
    pub equal: u64,
    /// Written, or removed, after the slot that the row is of.
    pub newer: u64,
    /// Other than the row: corrected with the next block, unless a block before it explains it.
    pub different: u64,
    /// Different, but too many corrections wait.
    pub dropped: u64,
}

/// The corrections so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CorrectionStats {
    pub waiting: u64,
    /// Accounts that were corrected since the store was opened.
    pub corrected: u64,
}

/// What the store says to a row.
enum Verdict {
    Equal,
    Newer,
    Different,
}

impl Store {
    /// Compares rows with the stored accounts, and keeps those that differ until the next block;
    /// at most `bytes_max` of them. Rows are of addresses that were stored a moment ago.
    pub fn compare(&self, rows: PackedRows<'_>, bytes_max: usize) -> Result<Compared> {
        let snapshot = self.snapshot()?;
        let mut sum = Compared::default();
        for row in rows {
            let row = row?;
            match verdict(snapshot.account(row.pubkey)?.as_ref(), &row) {
                Verdict::Equal => sum.equal += 1,
                Verdict::Newer => sum.newer += 1,
                Verdict::Different => {
                    sum.different += 1;
                    sum.dropped += u64::from(!self.corrections().add(&row, bytes_max));
                }
            }
        }
        Ok(sum)
    }

    pub fn correction_stats(&self) -> CorrectionStats {
        let corrections = self.corrections();
        CorrectionStats {
            waiting: corrections.waiting.len() as u64,
            corrected: corrections.corrected,
        }
    }

    /// Takes the corrections of slots up to the tip that are still called for. What was read at a
    /// later slot stays: blocks that explain it may be under way.
    pub(super) fn take_corrections(
        &self,
        txn: &RoTxn<'_>,
        tip_slot: u64,
    ) -> Result<Vec<AccountUpdate>> {
        let pending = self.corrections().take(tip_slot);
        let mut wanted = Vec::with_capacity(pending.len());
        for Correction { slot, update } in pending {
            let stored = match self.tables.accounts.get(txn, &update.pubkey)? {
                Some(found) => Some(decode(found)?),
                None => None,
            };
            let row = PackedRow {
                pubkey: &update.pubkey,
                account: update.at(slot),
            };
            if let Verdict::Different = verdict(stored.as_ref(), &row) {
                wanted.push(update);
            }
        }
        Ok(wanted)
    }

    pub(super) fn count_corrected(&self, count: u64) {
        self.corrections().corrected += count;
    }

    /// Plain numbers and whole entries, which are right also after a panic elsewhere.
    fn corrections(&self) -> MutexGuard<'_, Corrections> {
        self.corrections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot<'_> {
    /// The next stored addresses in order, after one or from the first on: at most `keys_max`,
    /// whose data together is at most `bytes_max` but for the first. None is the end of the table.
    pub fn keys_after(
        &self,
        after: Option<&Pubkey>,
        keys_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<Pubkey>> {
        let from = match after {
            Some(key) => Bound::Excluded(&key[..]),
            None => Bound::Unbounded,
        };
        let rows = self
            .tables()
            .accounts
            .range(&self.txn, &(from, Bound::Unbounded))?;
        let (mut keys, mut bytes) = (Vec::new(), 0);
        for row in rows {
            let (key, value) = row?;
            bytes += value.len();
            if keys.len() >= keys_max || (!keys.is_empty() && bytes > bytes_max) {
                break;
            }
            if let Some(key) = key.first_chunk() {
                keys.push(*key);
            }
        }
        Ok(keys)
    }
}

impl Corrections {
    fn add(&mut self, row: &PackedRow<'_>, bytes_max: usize) -> bool {
        let bytes = OVERHEAD_BYTES + row.account.data.len();
        if let Some(known) = self.waiting.remove(row.pubkey) {
            self.bytes -= OVERHEAD_BYTES + known.update.data.len();
        }
        if self.bytes + bytes > bytes_max {
            return false;
        }
        self.bytes += bytes;
        let correction = Correction {
            slot: row.account.slot,
            update: AccountUpdate {
                pubkey: *row.pubkey,
                lamports: row.account.lamports,
                rent_epoch: row.account.rent_epoch,
                executable: row.account.executable,
                owner: *row.account.owner,
                data: row.account.data.to_vec(),
            },
        };
        self.waiting.insert(*row.pubkey, correction);
        true
    }

    fn take(&mut self, tip_slot: u64) -> Vec<Correction> {
        let pending = self.waiting.values().filter(|c| c.slot <= tip_slot);
        let pending: Vec<Pubkey> = pending.map(|correction| correction.update.pubkey).collect();
        let mut taken = Vec::with_capacity(pending.len());
        for pubkey in pending {
            if let Some(correction) = self.waiting.remove(&pubkey) {
                self.bytes -= OVERHEAD_BYTES + correction.update.data.len();
                taken.push(correction);
            }
        }
        taken
    }
}

/// Whether the store and a row agree. The rent epoch says nothing: it is the largest number for
/// nearly all accounts, and proxies round it.
fn verdict(stored: Option<&AccountRef<'_>>, row: &PackedRow<'_>) -> Verdict {
    let read = &row.account;
    match stored {
        None if read.lamports == 0 => Verdict::Equal,
        // A block removed it since the addresses were listed.
        None => Verdict::Newer,
        Some(stored) if stored.slot > read.slot => Verdict::Newer,
        Some(stored)
            if stored.lamports == read.lamports
                && stored.owner == read.owner
                && stored.executable == read.executable
                && stored.data == read.data =>
        {
            Verdict::Equal
        }
        Some(_) => Verdict::Different,
    }
}

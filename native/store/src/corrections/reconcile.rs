//! Handles the findings of a sweep: accounts whose stored state differs from an upstream RPC's,
//! because the feed never sent a change. A correction waits for the next block and is applied as
//! part of it. So there is one transaction per block and none without a block, and subscribers are
//! notified of the change.

use std::ops::Bound;
use std::sync::{MutexGuard, PoisonError};

use heed::RoTxn;

use crate::corrections::queue::{Correction, Corrections};
use crate::rows::record::{AccountRef, AccountUpdate, decode};
use crate::rows::row_codec::{PackedRow, PackedRows};
use crate::snapshot::Snapshot;
use crate::store::Store;
use primitives::Pubkey;
use sys::error::Result;

/// The result of comparing rows with the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compared {
    pub equal: u64,
    /// The stored account was written or removed after the row's slot.
    pub newer: u64,
    /// Differs from the row: corrected with the next block, unless an earlier block explains the
    /// difference.
    pub different: u64,
    /// Different, but dropped because too many corrections are waiting.
    pub dropped: u64,
}

/// Statistics of corrections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CorrectionStats {
    pub waiting: u64,
    /// Accounts corrected since the store was opened.
    pub corrected: u64,
}

/// The result of comparing one row.
enum Verdict {
    Equal,
    Newer,
    Different,
}

impl Store {
    /// Compares rows with the stored accounts and queues those that differ until the next block, at
    /// most `bytes_max` bytes. The rows' addresses must have been read from the store shortly
    /// before.
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

    /// Takes the queued corrections of slots up to the tip that still apply. Corrections read at a
    /// later slot stay queued: blocks on the way may explain them.
    pub(crate) fn take_corrections(
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

    pub(crate) fn count_corrected(&self, count: u64) {
        self.corrections().corrected += count;
    }

    /// The corrections are consistent even after a panic of another thread.
    fn corrections(&self) -> MutexGuard<'_, Corrections> {
        self.corrections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot<'_> {
    /// The next stored addresses in order, after the given one or from the start: at most
    /// `keys_max`, whose records total at most `bytes_max` bytes (the first one may exceed this).
    /// An empty result marks the end of the table.
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

/// Compares the stored account with a row. Ignores the rent epoch: it is the largest number for
/// nearly all accounts, and proxies round it.
fn verdict(stored: Option<&AccountRef<'_>>, row: &PackedRow<'_>) -> Verdict {
    let read = &row.account;
    match stored {
        None if read.lamports == 0 => Verdict::Equal,
        // A block removed the account after the addresses were listed.
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

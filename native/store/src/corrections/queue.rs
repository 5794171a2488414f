//! The corrections that wait for the next block.

use std::collections::BTreeMap;

use crate::rows::record::AccountUpdate;
use crate::rows::row_codec::PackedRow;
use primitives::Pubkey;

/// Estimated bytes of a waiting correction besides its data.
const OVERHEAD_BYTES: usize = 128;

/// The corrections of one store.
#[derive(Default)]
pub(crate) struct Corrections {
    pub waiting: BTreeMap<Pubkey, Correction>,
    bytes: usize,
    pub corrected: u64,
}

/// An account as of a slot.
pub(crate) struct Correction {
    pub slot: u64,
    pub update: AccountUpdate,
}

impl Corrections {
    pub fn add(&mut self, row: &PackedRow<'_>, bytes_max: usize) -> bool {
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
                is_signed: false,
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

    pub fn take(&mut self, tip_slot: u64) -> Vec<Correction> {
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

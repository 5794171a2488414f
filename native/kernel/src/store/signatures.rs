//! Outcomes of recent transactions.

use std::ops::Bound;

use heed::{PutFlags, RwTxn};

use super::keys;
use super::open::Store;
use super::record::Block;
use crate::error::Result;

const SIGNATURE_BYTES: usize = 64;
/// So many signatures stay within half a page of LMDB.
const PER_PIECE: usize = 31;

impl Store {
    /// Adds a block's outcomes and drops those of slots that are too old.
    pub(super) fn write_signatures(&self, txn: &mut RwTxn<'_>, block: &Block) -> Result<()> {
        let tables = &self.tables;
        let mut sorted: Vec<_> = block.signatures.iter().collect();
        sorted.sort_unstable_by_key(|status| status.signature);
        let mut value = Vec::new();
        for status in &sorted {
            value.clear();
            value.extend_from_slice(&block.slot.to_be_bytes());
            value.extend_from_slice(status.error.as_deref().unwrap_or_default());
            tables.signatures.put(txn, &status.signature, &value)?;
        }
        for (sequence, statuses) in sorted.chunks(PER_PIECE).enumerate() {
            let piece: Vec<u8> = statuses
                .iter()
                .flat_map(|status| status.signature)
                .collect();
            let key = keys::piece(block.slot, sequence as u32);
            tables
                .signature_slots
                .put_with_flags(txn, PutFlags::APPEND, &key, &piece)?;
        }
        self.drop_old_signatures(txn, block.slot)
    }

    fn drop_old_signatures(&self, txn: &mut RwTxn<'_>, slot: u64) -> Result<()> {
        let tables = &self.tables;
        let end = keys::piece(
            (slot + 1).saturating_sub(self.options.signature_slots_max),
            0,
        );
        let range = (Bound::Unbounded, Bound::Excluded(&end[..]));
        let mut old = Vec::new();
        for row in tables.signature_slots.range(txn, &range)? {
            let (key, piece) = row?;
            let slot = keys::slot_of(key);
            let signatures = piece
                .chunks_exact(SIGNATURE_BYTES)
                .filter_map(|bytes| bytes.first_chunk());
            old.extend(signatures.map(|signature: &[u8; SIGNATURE_BYTES]| (*signature, slot)));
        }
        if old.is_empty() {
            return Ok(());
        }
        old.sort_unstable();
        for (signature, slot) in old {
            let stored = tables.signatures.get(txn, &signature)?;
            // A signature that came again in a later slot is that slot's to drop.
            if stored.is_some_and(|value| keys::slot_of(value) == slot) {
                tables.signatures.delete(txn, &signature)?;
            }
        }
        tables.signature_slots.delete_range(txn, &range)?;
        Ok(())
    }
}

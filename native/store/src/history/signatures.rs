//! Stores outcomes of recent transactions. Signatures are random, so a table ordered by signature
//! alone would touch one page per row. They are grouped by slot range, and a look-up searches each
//! group.

use std::ops::Bound;

use heed::RwTxn;

use crate::rows::keys;
use crate::rows::record::{self, Block};
use crate::snapshot::Snapshot;
use crate::store::Store;
use sys::error::Result;

/// Slots of a group: a larger value makes look-ups cheaper and writes more expensive.
pub(crate) const GROUP_SLOTS: u64 = 16;
/// Old rows that a commit may drop besides twice as many as it adds.
const DROPPED_MIN: usize = 1_000;
/// Set in the slot of a row that has the position of the transaction: rows of schema 3 have none.
const HAS_INDEX: u64 = 1 << 63;

/// The outcome of a recent transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignatureRef<'a> {
    pub slot: u64,
    /// Its position in the block; `None` in a row that a build of schema 3 wrote.
    pub index: Option<u32>,
    /// The feed's bincode of a TransactionError; `None` means success.
    pub error: Option<&'a [u8]>,
}

/// Decodes a row: the slot, the position, and the error of a transaction that failed.
pub(crate) fn decode(value: &[u8]) -> Option<SignatureRef<'_>> {
    let (slot, rest) = value.split_first_chunk()?;
    let slot = u64::from_be_bytes(*slot);
    let (index, error) = if slot & HAS_INDEX == 0 {
        (None, rest)
    } else {
        let (index, error) = rest.split_first_chunk()?;
        (Some(u32::from_be_bytes(*index)), error)
    };
    Some(SignatureRef {
        slot: slot & !HAS_INDEX,
        index,
        error: (!error.is_empty()).then_some(error),
    })
}

impl Store {
    /// Adds a block's outcomes and drops rows of groups whose slots are all too old.
    pub(crate) fn write_signatures(&self, txn: &mut RwTxn<'_>, block: &Block) -> Result<()> {
        let signatures = &self.tables.signatures;
        let group = block.slot / GROUP_SLOTS;
        let mut sorted: Vec<_> = block.transactions.iter().collect();
        sorted.sort_unstable_by_key(|update| update.signature);
        let mut value = Vec::new();
        for update in sorted {
            value.clear();
            value.extend_from_slice(&(block.slot | HAS_INDEX).to_be_bytes());
            value.extend_from_slice(&update.index.to_be_bytes());
            value.extend_from_slice(update.error.as_deref().unwrap_or_default());
            signatures.put(txn, &keys::signature(group, &update.signature), &value)?;
        }
        let oldest_kept = (block.slot + 1).saturating_sub(self.options.signature_slots_max);
        self.drop_signatures(txn, oldest_kept / GROUP_SLOTS, block.transactions.len())
    }

    /// Drops rows of the groups before `group`. A group ends with one of 16 slots, so its rows are
    /// dropped over the following commits, faster than rows are added.
    fn drop_signatures(&self, txn: &mut RwTxn<'_>, group: u64, added: usize) -> Result<()> {
        let signatures = &self.tables.signatures;
        let end = group.to_be_bytes();
        let old = (Bound::Unbounded, Bound::Excluded(&end[..]));
        let mut rows = signatures.range(txn, &old)?;
        let last = rows.nth(DROPPED_MIN + 2 * added).transpose()?;
        let last = last.map(|(key, _)| key.to_vec());
        drop(rows);
        match last {
            Some(last) => {
                signatures.delete_range(txn, &(Bound::Unbounded, Bound::Included(&last[..])))?
            }
            None => signatures.delete_range(txn, &old)?,
        };
        Ok(())
    }
}

impl Snapshot<'_> {
    /// The outcome of a recent transaction.
    pub fn signature(&self, signature: &[u8; 64]) -> Result<Option<SignatureRef<'_>>> {
        self.signature_since(signature, 0)
    }

    /// The outcome of a transaction in the group of the slot `since` or a later one.
    pub fn signature_since(
        &self,
        signature: &[u8; 64],
        since: u64,
    ) -> Result<Option<SignatureRef<'_>>> {
        let signatures = &self.tables().signatures;
        let Some((first, _)) = signatures.first(&self.txn)? else {
            return Ok(None);
        };
        let oldest = keys::slot_of(first).max(since / GROUP_SLOTS);
        // Newest first: clients rarely ask for old ones.
        for group in (oldest..=self.slot() / GROUP_SLOTS).rev() {
            if let Some(value) = signatures.get(&self.txn, &keys::signature(group, signature))? {
                return Ok(decode(value));
            }
        }
        Ok(None)
    }

    /// The slot after which the outcomes of every block are in the store: a store that was loaded,
    /// or brought up to date, has none of the blocks before. `None` in an empty store.
    pub fn outcomes_after(&self) -> Result<Option<u64>> {
        let Some(tip) = self.tip() else {
            return Ok(None);
        };
        let kept = tip
            .slot
            .saturating_sub(self.store.options.signature_slots_max);
        let mut oldest = tip.slot;
        let mut parent = tip.parent_slot;
        for row in self.tables().blocks.rev_iter(&self.txn)?.skip(1) {
            let (key, value) = row?;
            let slot = keys::slot_of(key);
            let Some(block) = record::decode_block(slot, value) else {
                break;
            };
            if slot != parent || oldest <= kept {
                break;
            }
            (oldest, parent) = (slot, block.parent_slot);
        }
        Ok(Some(oldest.max(kept)))
    }
}

//! Whether a store has every account of its scope, or only those written since it began, and all
//! changes of its slots.

use heed::{RoTxn, RwTxn};

use crate::rows::record::{Block, Tip};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::tables::Tables;
use sys::error::Result;

/// The row of `meta`: one byte, 0 or 1.
const COMPLETE: &[u8] = b"complete";
/// The row of `meta`: a slot.
const FEED_LACKS: &[u8] = b"feedLacks";
/// Height of the block after the genesis.
const FIRST_HEIGHT: u64 = 1;

impl Tables {
    fn complete(&self, txn: &RoTxn<'_>) -> Result<Option<bool>> {
        let row = self.meta.get(txn, COMPLETE)?;
        Ok(row.map(|value| value != [0]))
    }

    /// Marks a store that was loaded whole.
    pub(super) fn put_complete(&self, txn: &mut RwTxn<'_>, is_complete: bool) -> Result<()> {
        Ok(self.meta.put(txn, COMPLETE, &[u8::from(is_complete)])?)
    }

    /// A store that begins with the first block of its chain lacks nothing.
    pub(super) fn complete_at_genesis(
        &self,
        txn: &mut RwTxn<'_>,
        tip: Option<Tip>,
        blocks: &[&Block],
    ) -> Result<()> {
        match blocks.first() {
            Some(first) if tip.is_none() && first.block_height <= FIRST_HEIGHT => {
                self.put_complete(txn, true)
            }
            _ => Ok(()),
        }
    }
}

impl Store {
    /// Whether the store has every account of its scope; `None` if an older build made it.
    pub fn is_complete(&self) -> Result<Option<bool>> {
        let txn = self.env.read_txn()?;
        self.tables.complete(&txn)
    }

    /// Records whether the store has every account of its scope, durably. A copy of the store has
    /// the same mark.
    pub fn set_complete(&self, is_complete: bool) -> Result<()> {
        let mut txn = self.env.write_txn()?;
        self.tables.put_complete(&mut txn, is_complete)?;
        Ok(txn.commit()?)
    }
}

impl Store {
    /// Records that the changes of slots up to this one lack some: the store has accounts newer
    /// than the blocks that it applies, as after a load from an RPC.
    pub(super) fn write_feed_lacks(&self, txn: &mut RwTxn<'_>, slot: u64) -> Result<()> {
        let slot = slot.to_be_bytes();
        Ok(self.tables.meta.put(txn, FEED_LACKS, &slot)?)
    }
}

impl Snapshot<'_> {
    /// The newest slot whose changes lack some accounts; 0 if none do.
    pub fn feed_lacks(&self) -> Result<u64> {
        let stored = self.tables().meta.get(&self.txn, FEED_LACKS)?;
        let stored = stored.and_then(|slot| slot.first_chunk());
        Ok(stored.map_or(0, |slot| u64::from_be_bytes(*slot)))
    }

    /// Whether an account that is not stored does not exist.
    pub fn is_complete(&self) -> Result<bool> {
        Ok(self.tables().complete(&self.txn)? != Some(false))
    }
}

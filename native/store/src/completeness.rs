//! Whether a store has every account of its scope, or only those written since it began.

use heed::{RoTxn, RwTxn};

use crate::rows::record::{Block, Tip};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::tables::Tables;
use sys::error::Result;

/// The row of `meta`: one byte, 0 or 1.
const COMPLETE: &[u8] = b"complete";
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

impl Snapshot<'_> {
    /// Whether an account that is not stored does not exist.
    pub fn is_complete(&self) -> Result<bool> {
        Ok(self.tables().complete(&self.txn)? != Some(false))
    }
}

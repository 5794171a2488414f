//! A consistent view of the store, and its point reads.

use std::ops::Bound;

use heed::{RoTxn, WithTls};

use crate::indexes::holder_row::{self, HOLDERS_MIN, Row};
use crate::indexes::holder_scan::each_holder;
use crate::indexes::largest::Largest;
use crate::options::{BLOCKS_KEPT, Scope};
use crate::pages::query::Budget;
use crate::rows::keys;
use crate::rows::record::{self, AccountRef, Tip, decode};
use crate::store::Store;
use crate::tables::Tables;
use primitives::Pubkey;
use primitives::token::{CLOCK_SYSVAR, TokenProgram};
use sys::error::{Error, Result};

/// A read transaction: all answers of a snapshot are as of the same slot.
pub struct Snapshot<'s> {
    pub(super) store: &'s Store,
    pub(super) txn: RoTxn<'s, WithTls>,
    tip: Option<Tip>,
}

impl Store {
    /// A consistent view of the store that does not change until it is dropped. Keep it short, and
    /// open only one per thread: the pages that it reads cannot be reused.
    pub fn snapshot(&self) -> Result<Snapshot<'_>> {
        let txn = self.env.read_txn()?;
        let tip = self.tip_at(&txn)?;
        Ok(Snapshot {
            store: self,
            txn,
            tip,
        })
    }
}

impl<'s> Snapshot<'s> {
    pub(super) fn tables(&self) -> &'s Tables {
        &self.store.tables
    }

    /// The newest block; `None` in an empty store.
    pub fn tip(&self) -> Option<&Tip> {
        self.tip.as_ref()
    }

    /// The slot of the snapshot; 0 in an empty store.
    pub fn slot(&self) -> u64 {
        self.tip.map_or(0, |tip| tip.slot)
    }

    /// The number of the last commit that it sees; two snapshots with the same number give equal
    /// answers.
    pub fn commit(&self) -> usize {
        self.txn.id()
    }

    /// The account with this address, borrowed from the memory map.
    #[inline]
    pub fn account(&self, pubkey: &Pubkey) -> Result<Option<AccountRef<'_>>> {
        match self.tables().accounts.get(&self.txn, pubkey)? {
            Some(found) => decode(found).map(Some),
            None => Ok(None),
        }
    }

    /// The current time of the chain: that of the Clock sysvar, else the tip's block time, else 0.
    pub fn unix_timestamp(&self) -> i64 {
        let clock = self.account(&CLOCK_SYSVAR).ok().flatten();
        clock
            .and_then(|clock| {
                clock
                    .data
                    .get(32..)?
                    .first_chunk()
                    .map(|time| i64::from_le_bytes(*time))
            })
            .or_else(|| self.tip.and_then(|tip| tip.block_time))
            .unwrap_or(0)
    }

    /// The largest token accounts of a mint, at most [`HOLDERS_MIN`], including frozen and empty
    /// ones; sorted by amount, then pubkey, both descending. Counts only accounts of `program`,
    /// which must be the mint's. `None` while the mint's row is refilled: only
    /// [`Snapshot::scan_holders`] can tell then.
    pub fn holders(
        &self,
        program: TokenProgram,
        mint: &Pubkey,
        max: usize,
    ) -> Result<Option<Vec<(u64, Pubkey)>>> {
        let key = holder_row::key(&(program, *mint));
        let stored = self.tables().holders.get(&self.txn, &key)?;
        let mut row = stored.map_or_else(Row::empty, Row::decode);
        let max = max.min(HOLDERS_MIN);
        if !row.is_complete && row.entries.len() < max {
            return Ok(None);
        }
        row.entries.truncate(max);
        Ok(Some(row.entries))
    }

    /// The same from all accounts of the mint.
    pub fn scan_holders(
        &self,
        program: TokenProgram,
        mint: &Pubkey,
        max: usize,
        budget: &mut Budget,
    ) -> Result<Vec<(u64, Pubkey)>> {
        let mut largest = Largest::new(max.min(HOLDERS_MIN));
        let mint = (program, *mint);
        each_holder(self.tables(), &self.txn, &mint, None, &mut |_, entry| {
            budget.count()?;
            entry.into_iter().for_each(|entry| largest.insert(entry));
            Ok(true)
        })?;
        Ok(largest.first(HOLDERS_MIN))
    }

    /// The block of this slot, if it is one of the last blocks.
    pub fn block(&self, slot: u64) -> Result<Option<Tip>> {
        let found = self.tables().blocks.get(&self.txn, &slot.to_be_bytes())?;
        Ok(found.and_then(|value| record::decode_block(slot, value)))
    }

    /// The first block after this slot; `None` means the oldest stored block.
    pub fn block_after(&self, slot: Option<u64>) -> Result<Option<Tip>> {
        let key = slot.map(u64::to_be_bytes);
        let from = match &key {
            Some(key) => Bound::Excluded(&key[..]),
            None => Bound::Unbounded,
        };
        let mut rows = self
            .tables()
            .blocks
            .range(&self.txn, &(from, Bound::Unbounded))?;
        let found = rows.next().transpose()?;
        Ok(found.and_then(|(key, value)| record::decode_block(keys::slot_of(key), value)))
    }

    /// The newest finalized block. It is the tip if no slot was reported as finalized yet, or only
    /// slots before the store's first block. Fails if finality stopped so long ago that the block
    /// is not one of the last [`BLOCKS_KEPT`].
    pub fn finalized(&self) -> Result<Option<Tip>> {
        let Some(tip) = self.tip else { return Ok(None) };
        if tip.root == 0 || tip.root == tip.slot {
            return Ok(Some(tip));
        }
        let is_old = match self.block(tip.root)? {
            Some(block) if tip.block_height.saturating_sub(block.block_height) < BLOCKS_KEPT => {
                return Ok(Some(block));
            }
            Some(_) => true,
            None => self.tables().blocks.len(&self.txn)? >= BLOCKS_KEPT,
        };
        if is_old {
            return Err(Error::NodeUnhealthy);
        }
        Ok(Some(tip))
    }

    /// The blocks from `newest` down to the last one whose height is at most `height_max` below it.
    pub fn blocks_down_from(
        &self,
        newest: &Tip,
        height_max: u64,
    ) -> Result<impl Iterator<Item = Result<Tip>>> {
        let (key, newest_height) = (newest.slot.to_be_bytes(), newest.block_height);
        let until = (Bound::Unbounded, Bound::Included(&key[..]));
        let rows = self.tables().blocks.rev_range(&self.txn, &until)?;
        let blocks = rows.filter_map(|row| match row {
            Ok((key, value)) => record::decode_block(keys::slot_of(key), value).map(Ok),
            Err(error) => Some(Err(error.into())),
        });
        Ok(blocks.take_while(move |block| {
            block
                .as_ref()
                .is_ok_and(|block| newest_height.saturating_sub(block.block_height) <= height_max)
                || block.is_err()
        }))
    }

    /// The block with this hash, if it is `newest` or its height is at most `height_max` below it.
    pub fn block_of_hash(
        &self,
        blockhash: &[u8; 32],
        newest: &Tip,
        height_max: u64,
    ) -> Result<Option<Tip>> {
        self.blocks_down_from(newest, height_max)?
            .find(|block| {
                block
                    .as_ref()
                    .map_or(true, |block| block.blockhash == *blockhash)
            })
            .transpose()
    }

    /// The scope that the store was built for.
    pub fn scope(&self) -> &Scope {
        &self.store.options.scope
    }

    /// Whether the store knows the chain's state of this address: the account is stored, or its
    /// absence proves that the chain has none. Otherwise the answer `null` could be wrong.
    pub fn in_scope(&self, pubkey: &Pubkey) -> Result<bool> {
        Ok(self.scope().covers_pubkey(pubkey) || self.account(pubkey)?.is_some())
    }
}

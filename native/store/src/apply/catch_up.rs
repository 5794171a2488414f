//! Updates a copy of a store from the newest versions of many accounts, without the intermediate
//! blocks. It uses several transactions of limited size, so the copy must not be served before the
//! end.

use heed::RwTxn;

use crate::history::fees::FEES_BYTES;
use crate::indexes::delta::IndexDelta;
use crate::rows::keys::Indexed;
use crate::rows::record::{self, Tip, decode};
use crate::store::Store;
use primitives::Pubkey;
use sys::error::{Error, Result};

/// Maximum accounts per transaction: their index keys are kept in memory.
const ACCOUNTS_MAX: usize = 20_000;
/// Maximum bytes of their records.
const BYTES_MAX: usize = 64 << 20;

/// The newest version of an account.
#[derive(Debug, Clone, Copy)]
pub enum Newest<'r> {
    /// The account is closed or outside the scope.
    Gone,
    /// The record to store.
    Kept(&'r [u8]),
    /// A mint outside the scope; it is stored only if the store has token accounts of it.
    OtherMint(&'r [u8]),
}

/// A store being caught up.
pub struct CatchUp<'s> {
    store: &'s Store,
    txn: Option<RwTxn<'s>>,
    delta: IndexDelta<'s>,
    accounts: usize,
    bytes: usize,
}

impl Store {
    /// Begins to apply all changes after `from_slot`, up to the block `base`.
    pub fn catch_up(&self, from_slot: u64, base: &Tip) -> Result<CatchUp<'_>> {
        let tip = self.tip()?.map_or(0, |tip| tip.slot);
        if tip < from_slot || tip > base.slot {
            return Err(Error::LoadFailed(format!(
                "what changed from slot {from_slot} to {} does not continue a store of slot {tip}",
                base.slot
            )));
        }
        Ok(CatchUp {
            store: self,
            txn: None,
            delta: IndexDelta::new(&self.options.changed),
            accounts: 0,
            bytes: 0,
        })
    }
}

impl CatchUp<'_> {
    /// Applies the newest version of an account; accounts come in ascending order of pubkeys.
    /// Returns whether a record was written; a newer stored version is not overwritten.
    pub fn take(&mut self, pubkey: &Pubkey, slot: u64, newest: Newest<'_>) -> Result<bool> {
        let store = self.store;
        let txn = match &mut self.txn {
            Some(txn) => txn,
            none => none.insert(store.env.write_txn()?),
        };
        let record = match newest {
            Newest::Gone => None,
            Newest::Kept(record) => Some(record),
            Newest::OtherMint(record) => {
                let account = decode(record)?;
                let is_needed = store.has_accounts_of(txn, pubkey, account.owner)?;
                is_needed.then_some(record)
            }
        };
        let stored = match store.tables.accounts.get(txn, pubkey)? {
            Some(found) if Some(found) == record => return Ok(false),
            Some(found) => Some(Indexed::of(&decode(found)?)),
            None => None,
        };
        if stored.is_some_and(|stored| stored.slot > slot) || stored.is_none() && record.is_none() {
            return Ok(false);
        }
        let account = record.map(decode).transpose()?;
        store.write_account(txn, pubkey, stored.is_some(), account.as_ref())?;
        let new = account.as_ref().map(Indexed::of);
        self.delta.push(pubkey, stored.as_ref(), new.as_ref());
        self.accounts += 1;
        self.bytes += record.map_or(0, <[u8]>::len);
        if self.accounts >= ACCOUNTS_MAX || self.bytes >= BYTES_MAX {
            self.commit()?;
        }
        Ok(record.is_some())
    }

    fn commit(&mut self) -> Result<()> {
        let Some(mut txn) = self.txn.take() else {
            return Ok(());
        };
        (self.accounts, self.bytes) = (0, 0);
        let next = IndexDelta::new(&self.store.options.changed);
        let delta = std::mem::replace(&mut self.delta, next);
        self.store.with_refills(|refills| {
            delta.write(&self.store.tables, &mut txn, refills)?;
            Ok(txn.commit()?)
        })?;
        crate::disk_space::keep_reserve(&self.store.dir, self.store.options.disk_reserve_bytes)
    }

    /// Makes this block the tip. Drops the retained history before it, which does not connect to
    /// it.
    pub fn finish(mut self, tip: &Tip) -> Result<()> {
        self.commit()?;
        self.store.refill_all_holders()?;
        let (tables, mut txn) = (&self.store.tables, self.store.env.write_txn()?);
        let root = tables.tip(&txn)?.map_or(0, |before| before.root);
        let tip = Tip {
            root: tip.root.max(root),
            ..*tip
        };
        tables.blocks.clear(&mut txn)?;
        tables.fees.clear(&mut txn)?;
        tables.meta.delete(&mut txn, FEES_BYTES)?;
        let block = record::encode_block(&tip);
        tables
            .blocks
            .put(&mut txn, &tip.slot.to_be_bytes(), &block)?;
        Ok(txn.commit()?)
    }
}

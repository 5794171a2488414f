//! One block, one durable write transaction.

use std::collections::HashSet;
use std::ffi::CString;
use std::io::Write;
use std::mem::MaybeUninit;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::slice;

use heed::RwTxn;

use super::diff::Diff;
use super::keys::{self, Indexed};
use super::open::Store;
use super::options::{ACCOUNT_DATA_BYTES_MAX, BLOCKS_KEPT, Scope};
use super::record::{self, AccountUpdate, Block, HEAD_BYTES, Tip};
use super::snapshot::{decode, tip_of};
use crate::Pubkey;
use crate::error::{ChainBreak, Error, Result};
use crate::token::{self, TokenProgram};

/// What blocks did to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Applied {
    /// False where every block is at or before the tip: known already, and nothing was written.
    pub is_new: bool,
    /// Accounts written.
    pub accounts: u64,
    /// Accounts removed: closed, or no longer in scope.
    pub deleted: u64,
    /// Updates passed over because they are not in scope.
    pub out_of_scope: u64,
    /// Bytes of account data written.
    pub bytes: u64,
}

/// What an update means for the store.
enum Outcome {
    Write,
    Delete,
    Ignore,
}

impl Store {
    /// Writes a block with all its indexes and makes it the tip: all of it or, on any failure,
    /// none. When this returns, the block is on the disk.
    pub fn apply(&self, block: &Block) -> Result<Applied> {
        self.apply_all(slice::from_ref(block))
    }

    /// Writes consecutive blocks in one transaction, all of them or none; for a feed that is
    /// behind. No reader sees the store between them, and their pages go to the disk once.
    pub fn apply_all(&self, blocks: &[Block]) -> Result<Applied> {
        self.keep_disk_reserve()?;
        let mut txn = self.env.write_txn()?;
        let mut sum = Applied::default();
        for block in blocks {
            if let Some(tip) = tip_of(&self.tables, &txn)? {
                if block.slot <= tip.slot {
                    continue;
                }
                check_chain(&tip, block)?;
            }
            self.apply_in(&mut txn, block, &mut sum)?;
        }
        if sum.is_new {
            txn.commit()?;
        }
        Ok(sum)
    }

    fn apply_in(&self, txn: &mut RwTxn<'_>, block: &Block, sum: &mut Applied) -> Result<()> {
        let updates = last_writes(block)?;
        let mints = self.mints_needed(&updates);
        let mut diff = Diff::new(&self.options.changed);
        let mut fed = Vec::with_capacity(updates.len());
        for update in updates {
            let stored = match self.tables.accounts.get(txn, &update.pubkey)? {
                Some(found) => Some(Indexed::of(&decode(found)?)),
                None => None,
            };
            match self.outcome(txn, update, stored.is_some(), &mints)? {
                Outcome::Ignore => {
                    sum.out_of_scope += 1;
                    continue;
                }
                Outcome::Delete => {
                    if let Some(old) = &stored {
                        self.tables.accounts.delete(txn, &update.pubkey)?;
                        diff.push(&update.pubkey, Some(old), None);
                        sum.deleted += 1;
                    }
                }
                Outcome::Write => {
                    let new = update.at(block.slot);
                    let bytes = HEAD_BYTES + new.data.len();
                    self.tables
                        .accounts
                        .put_reserved(txn, &update.pubkey, bytes, |space| {
                            space.write_all(&record::encode_head(&new))?;
                            space.write_all(new.data)
                        })?;
                    diff.push(&update.pubkey, stored.as_ref(), Some(&Indexed::of(&new)));
                    sum.accounts += 1;
                    sum.bytes += new.data.len() as u64;
                }
            }
            fed.push(update);
        }
        diff.write(&self.tables, txn, block.slot)?;
        self.write_feed(txn, block, &fed)?;
        self.write_signatures(txn, block)?;
        self.write_tip(txn, block)?;
        sum.is_new = true;
        Ok(())
    }

    fn write_tip(&self, txn: &mut RwTxn<'_>, block: &Block) -> Result<()> {
        let blocks = &self.tables.blocks;
        let tip = Tip {
            slot: block.slot,
            parent_slot: block.parent_slot,
            blockhash: block.blockhash,
            block_height: block.block_height,
            block_time: block.block_time,
        };
        blocks.put(txn, &block.slot.to_be_bytes(), &record::encode_block(&tip))?;
        while blocks.len(txn)? > BLOCKS_KEPT {
            let Some(oldest) = blocks.first(txn)?.map(|(key, _)| keys::slot_of(key)) else {
                break;
            };
            blocks.delete(txn, &oldest.to_be_bytes())?;
        }
        Ok(())
    }

    fn outcome(
        &self,
        txn: &RwTxn<'_>,
        update: &AccountUpdate,
        is_stored: bool,
        mints: &HashSet<Pubkey>,
    ) -> Result<Outcome> {
        let scope = &self.options.scope;
        let is_covered = scope.covers_account(&update.pubkey, &update.owner, &update.data)
            || mints.contains(&update.pubkey)
            || self.is_mint_of_stored(txn, update)?;
        Ok(match (is_covered, update.lamports) {
            (true, 1..) => Outcome::Write,
            (true, 0) => Outcome::Delete,
            (false, _) if is_stored => Outcome::Delete,
            (false, _) => Outcome::Ignore,
        })
    }

    /// A mint outside the scope whose token accounts are inside it: without it they have no
    /// decimals.
    fn is_mint_of_stored(&self, txn: &RwTxn<'_>, update: &AccountUpdate) -> Result<bool> {
        let Some(program) = TokenProgram::of(&update.owner) else {
            return Ok(false);
        };
        if self.options.scope == Scope::All || !token::is_mint(&update.data) {
            return Ok(false);
        }
        let first = keys::by_mint(program, &update.pubkey, &[0; 32]);
        let last = keys::by_mint(program, &update.pubkey, &[0xFF; 32]);
        let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        Ok(self
            .tables
            .by_mint
            .range(txn, &range)?
            .next()
            .transpose()?
            .is_some())
    }

    /// The mints of this block's own token accounts in scope.
    fn mints_needed(&self, updates: &[&AccountUpdate]) -> HashSet<Pubkey> {
        let scope = &self.options.scope;
        if *scope == Scope::All {
            return HashSet::new();
        }
        let accounts = updates.iter().filter(|update| {
            TokenProgram::of(&update.owner).is_some()
                && token::is_account(&update.data)
                && scope.covers_account(&update.pubkey, &update.owner, &update.data)
        });
        accounts
            .filter_map(|update| token::mint_of(&update.data).copied())
            .collect()
    }

    fn keep_disk_reserve(&self) -> Result<()> {
        let path = CString::new(self.dir.as_os_str().as_bytes())
            .map_err(|_| Error::Internal("the store's path holds a zero byte".to_string()))?;
        let mut stats = MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: `path` ends in a zero byte and `stats` is large enough for what is written.
        if unsafe { libc::statvfs(path.as_ptr(), stats.as_mut_ptr()) } != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        // SAFETY: statvfs answered 0, so it filled the structure.
        let stats = unsafe { stats.assume_init() };
        let free_bytes = stats.f_bavail.saturating_mul(stats.f_frsize);
        if free_bytes < self.options.disk_reserve_bytes {
            return Err(Error::DiskReserve(free_bytes));
        }
        Ok(())
    }
}

fn check_chain(tip: &Tip, block: &Block) -> Result<()> {
    if block.parent_slot == tip.slot && block.parent_blockhash == tip.blockhash {
        return Ok(());
    }
    Err(Error::NotNextBlock(Box::new(ChainBreak {
        tip_slot: tip.slot,
        tip_blockhash: tip.blockhash,
        slot: block.slot,
        parent_slot: block.parent_slot,
        parent_blockhash: block.parent_blockhash,
    })))
}

/// The updates in ascending order of pubkeys, the last one of each: sorted keys meet the same pages
/// in turn.
fn last_writes(block: &Block) -> Result<Vec<&AccountUpdate>> {
    if let Some(large) = block
        .accounts
        .iter()
        .find(|a| a.data.len() > ACCOUNT_DATA_BYTES_MAX)
    {
        return Err(Error::Internal(format!(
            "the feed gave an account {} bytes of data in slot {}; the chain allows \
             {ACCOUNT_DATA_BYTES_MAX}",
            large.data.len(),
            block.slot
        )));
    }
    // The sort is stable, so of equal pubkeys the later update comes last.
    let mut sorted: Vec<&AccountUpdate> = block.accounts.iter().collect();
    sorted.sort_by_key(|update| update.pubkey);
    let mut kept: Vec<&AccountUpdate> = Vec::with_capacity(sorted.len());
    for update in sorted {
        match kept.last_mut() {
            Some(last) if last.pubkey == update.pubkey => *last = update,
            _ => kept.push(update),
        }
    }
    Ok(kept)
}

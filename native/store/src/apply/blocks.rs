//! Applies blocks in a durable write transaction: one block, or several if the feed is behind.

use std::collections::HashSet;
use std::slice;
use std::sync::PoisonError;

use heed::RwTxn;

use crate::apply::beside::{beside, is_large};
use crate::disk_space;
use crate::history::feed_record::Location;
use crate::history::feed_write::FeedWriter;
use crate::indexes::delta::IndexDelta;
use crate::indexes::refill::Refills;
use crate::options::{ACCOUNT_DATA_BYTES_MAX, BLOCKS_KEPT, Scope};
use crate::rows::keys::{self, Indexed};
use crate::rows::record::{self, AccountUpdate, Block, Tip, decode};
use crate::store::Store;
use primitives::Pubkey;
use primitives::token::{self, TokenProgram};
use sys::error::{ChainBreak, Error, Result};

/// The result of applying blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Applied {
    /// False if every block is at or before the tip, so that nothing was written.
    pub is_new: bool,
    /// Accounts written.
    pub accounts: u64,
    /// Accounts removed because they were closed or left the scope.
    pub deleted: u64,
    /// Updates skipped because they are outside the scope.
    pub out_of_scope: u64,
    /// Bytes of account data written.
    pub bytes: u64,
    /// Updates skipped because the stored account has the same or a later slot: a loaded store may
    /// contain accounts newer than its tip.
    pub outdated: u64,
    /// Accounts corrected after a sweep found them wrong.
    pub corrected: u64,
}

/// How an update changes the store.
enum Outcome {
    Write,
    Delete,
    Ignore,
}

impl Store {
    /// Writes a block with all its indexes and makes it the tip. On any failure it writes nothing.
    /// When this returns, the block is on disk.
    pub fn apply(&self, block: &Block) -> Result<Applied> {
        self.apply_all(slice::from_ref(block))
    }

    /// Writes consecutive blocks in one transaction, all or none; used when the feed is behind. No
    /// reader sees an intermediate state, so of several writes of an account only the last one
    /// reaches its tables; `feed` stores each of them. The pages are synced once.
    pub fn apply_all(&self, blocks: &[Block]) -> Result<Applied> {
        self.prefault(blocks);
        let commit = || self.with_refills(|refills| self.commit_all(blocks, refills));
        self.watch_faults(commit)
    }

    fn commit_all(&self, blocks: &[Block], refills: &mut Refills) -> Result<Applied> {
        let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(feed) = feed.as_mut() else {
            return Err(Error::Internal("the store is open to be read".to_string()));
        };
        feed.begin().map_err(heed::Error::Io)?;
        self.keep_reserve(feed)?;
        let mut txn = self.env.write_txn()?;
        let mut sum = Applied::default();
        let tip = self.tables.tip(&txn)?;
        let new = not_known(tip, blocks)?;
        self.tables.complete_at_genesis(&mut txn, tip, &new)?;
        let mut corrections = match tip {
            Some(tip) if !new.is_empty() => self.take_corrections(&txn, tip.slot)?,
            _ => Vec::new(),
        };
        // With a scope, the accounts kept of a block may depend on the blocks before it.
        let together = match self.options.scope {
            Scope::All => new.len().max(1),
            Scope::Listed { .. } => 1,
        };
        for blocks in new.chunks(together) {
            let writers = (&mut *refills, &mut *feed);
            self.apply_in(&mut txn, blocks, &corrections, writers, &mut sum)?;
            // Corrections are applied with the first block.
            sum.corrected += corrections.len() as u64;
            corrections.clear();
        }
        if sum.is_new {
            // Both are on disk when this returns. After a power failure between the two the changes
            // of this commit may be damaged, which their checksums show.
            let mut is_committed = false;
            let commit = || -> Result<()> {
                txn.commit()?;
                is_committed = true;
                Ok(())
            };
            let synced = beside(true, || feed.sync(), commit);
            if is_committed {
                feed.commit();
                self.feed_kept.set(feed);
            }
            synced?;
            self.count_corrected(sum.corrected);
        }
        Ok(sum)
    }

    /// Fails if the disk has less free space than the reserve. Below twice as much, the oldest
    /// changes go first: a store that stops costs clients more than cursors that reach less far.
    fn keep_reserve(&self, feed: &mut FeedWriter) -> Result<()> {
        let reserve_bytes = self.options.disk_reserve_bytes;
        let wanted = reserve_bytes.saturating_mul(2);
        let missing = wanted.saturating_sub(disk_space::free_bytes(&self.dir)?);
        feed.give_back(missing).map_err(heed::Error::Io)?;
        disk_space::keep_reserve(&self.dir, reserve_bytes)
    }

    fn apply_in(
        &self,
        txn: &mut RwTxn<'_>,
        blocks: &[&Block],
        corrections: &[AccountUpdate],
        (refills, feed): (&mut Refills, &mut FeedWriter),
        sum: &mut Applied,
    ) -> Result<()> {
        let writes = last_writes(blocks, corrections)?;
        let mints = self.mints_needed(&writes);
        let mut delta = IndexDelta::new(&self.options.changed);
        let mut fed = vec![Vec::new(); blocks.len()];
        let outdated_before = sum.outdated;
        for writes in writes.chunk_by(|a, b| a.update.pubkey == b.update.pubkey) {
            self.apply_account(txn, writes, &mints, &mut delta, &mut fed, sum)?;
        }
        let slots_kept = self.slots_in(self.options.feed_ms, txn)?;
        let refilled = refills.finished();
        let append = || feed.append(blocks, &fed, &refilled, slots_kept);
        let locations = beside(is_large(blocks), append, || {
            delta.write(&self.tables, txn, refills)?;
            for block in blocks {
                self.write_signatures(txn, block)?;
                self.write_fees(txn, block)?;
            }
            Ok(())
        })?;
        for (block, location) in blocks.iter().zip(locations) {
            self.write_tip(txn, block, location, slots_kept)?;
        }
        if let Some(last) = blocks.last()
            && sum.outdated > outdated_before
        {
            self.write_feed_lacks(txn, last.slot)?;
        }
        sum.is_new = true;
        Ok(())
    }

    /// Applies the writes of one account: writes its last state, and adds to `fed` the updates of
    /// each block that its feed shows.
    fn apply_account<'b>(
        &self,
        txn: &mut RwTxn<'_>,
        writes: &[LastWrite<'b>],
        mints: &HashSet<Pubkey>,
        delta: &mut IndexDelta<'_>,
        fed: &mut [Vec<&'b AccountUpdate>],
        sum: &mut Applied,
    ) -> Result<()> {
        let Some(LastWrite { update, .. }) = writes.first() else {
            return Ok(());
        };
        let pubkey = &update.pubkey;
        let stored = match self.tables.accounts.get(txn, pubkey)? {
            Some(found) => Some(Indexed::of(&decode(found)?)),
            None => None,
        };
        let outdated = stored.as_ref().map_or(0, |stored| {
            writes.partition_point(|write| write.slot <= stored.slot)
        });
        sum.outdated += outdated as u64;
        let writes = writes.get(outdated..).unwrap_or_default();
        if writes.is_empty() {
            return Ok(());
        }
        let mut is_there = stored.is_some();
        let mut last = None;
        for write in writes {
            match self.outcome(txn, write.update, is_there, mints)? {
                Outcome::Ignore => {
                    sum.out_of_scope += 1;
                    continue;
                }
                Outcome::Delete => {
                    sum.deleted += u64::from(is_there);
                    (is_there, last) = (false, None);
                }
                Outcome::Write => {
                    sum.accounts += 1;
                    sum.bytes += write.update.data.len() as u64;
                    (is_there, last) = (true, Some(write.update.at(write.slot)));
                }
            }
            if let Some(fed) = fed.get_mut(write.block_index) {
                fed.push(write.update);
            }
        }
        self.write_account(txn, pubkey, stored.is_some(), last.as_ref())?;
        let new = last.as_ref().map(Indexed::of);
        delta.push(pubkey, stored.as_ref(), new.as_ref());
        Ok(())
    }

    /// Adds the row of a block, and removes those that are older than `slots_kept` and not among
    /// the last [`BLOCKS_KEPT`].
    fn write_tip(
        &self,
        txn: &mut RwTxn<'_>,
        block: &Block,
        location: Option<Location>,
        slots_kept: u64,
    ) -> Result<()> {
        let blocks = &self.tables.blocks;
        let before = blocks.last(txn)?;
        let before =
            before.and_then(|(key, value)| record::decode_block(keys::slot_of(key), value));
        let root_before = before.map_or(0, |tip| tip.root);
        let mut value = record::encode_block(&tip_after(block, root_before)).to_vec();
        value.extend(location.iter().flat_map(Location::encode));
        blocks.put(txn, &block.slot.to_be_bytes(), &value)?;
        let oldest_kept = (block.slot + 1).saturating_sub(slots_kept);
        while blocks.len(txn)? > BLOCKS_KEPT
            && let Some((key, _)) = blocks.first(txn)?
        {
            let oldest = keys::slot_of(key);
            if oldest >= oldest_kept {
                break;
            }
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

    /// Whether this is a mint outside the scope that has token accounts inside it, which need its
    /// decimals.
    fn is_mint_of_stored(&self, txn: &RwTxn<'_>, update: &AccountUpdate) -> Result<bool> {
        if self.options.scope == Scope::All || !token::is_mint(&update.data) {
            return Ok(false);
        }
        self.has_accounts_of(txn, &update.pubkey, &update.owner)
    }

    /// The mints of this block's token accounts that are in scope.
    fn mints_needed(&self, writes: &[LastWrite<'_>]) -> HashSet<Pubkey> {
        let scope = &self.options.scope;
        if *scope == Scope::All {
            return HashSet::new();
        }
        let updates = writes.iter().map(|write| write.update);
        let accounts = updates.filter(|update| {
            TokenProgram::of(&update.owner).is_some()
                && token::is_account(&update.data)
                && scope.covers_account(&update.pubkey, &update.owner, &update.data)
        });
        accounts
            .filter_map(|update| token::mint_of(&update.data).copied())
            .collect()
    }
}

/// The blocks after the tip; each must continue its predecessor.
fn not_known(mut tip: Option<Tip>, blocks: &[Block]) -> Result<Vec<&Block>> {
    let mut new = Vec::with_capacity(blocks.len());
    for block in blocks {
        if let Some(tip) = &tip {
            if block.slot <= tip.slot {
                continue;
            }
            check_chain(tip, block)?;
        }
        tip = Some(tip_after(block, tip.map_or(0, |tip| tip.root)));
        new.push(block);
    }
    Ok(new)
}

/// The tip after a block. Its root never decreases, and is limited to the block's slot, because a
/// feed that is ahead may report a later root.
fn tip_after(block: &Block, root_before: u64) -> Tip {
    Tip {
        slot: block.slot,
        parent_slot: block.parent_slot,
        blockhash: block.blockhash,
        block_height: block.block_height,
        block_time: block.block_time,
        root: root_before.max(block.root.unwrap_or(0).min(block.slot)),
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

/// The state of one account after a block.
struct LastWrite<'b> {
    /// The first bytes of the pubkey: most comparisons need no access to the update.
    prefix: u64,
    block_index: usize,
    slot: u64,
    update: &'b AccountUpdate,
}

/// The last write of each account per block, in ascending order of pubkeys, then of blocks; sorted
/// keys touch the same pages consecutively.
///
/// Corrections count as the first writes of the first block.
fn last_writes<'b>(
    blocks: &[&'b Block],
    corrections: &'b [AccountUpdate],
) -> Result<Vec<LastWrite<'b>>> {
    let count: usize = blocks.iter().map(|block| block.accounts.len()).sum();
    let mut sorted = Vec::with_capacity(corrections.len() + count);
    if let Some(first) = blocks.first() {
        sorted.extend(corrections.iter().map(|update| LastWrite {
            prefix: keys::prefix_of(&update.pubkey),
            block_index: 0,
            slot: first.slot,
            update,
        }));
    }
    for (block_index, block) in blocks.iter().enumerate() {
        for update in &block.accounts {
            if update.data.len() > ACCOUNT_DATA_BYTES_MAX {
                return Err(Error::Internal(format!(
                    "the feed gave an account {} bytes of data in slot {}; the chain allows \
                     {ACCOUNT_DATA_BYTES_MAX}",
                    update.data.len(),
                    block.slot
                )));
            }
            sorted.push(LastWrite {
                prefix: keys::prefix_of(&update.pubkey),
                block_index,
                slot: block.slot,
                update,
            });
        }
    }
    // The sort is stable, so the later of two updates of a pubkey comes last.
    sorted.sort_by(|a, b| {
        let by_prefix = a.prefix.cmp(&b.prefix);
        by_prefix.then_with(|| a.update.pubkey.cmp(&b.update.pubkey))
    });
    // Keeps the last of several equal neighbours.
    sorted.reverse();
    sorted.dedup_by(|a, b| a.block_index == b.block_index && a.update.pubkey == b.update.pubkey);
    sorted.reverse();
    Ok(sorted)
}

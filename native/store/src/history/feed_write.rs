//! Stores the changes of recent slots, so that an edge whose subscribers are a few slots behind can
//! still send each slot's changes as of that slot.

use std::ops::Bound;

use heed::{PutFlags, RwTxn};

use crate::rows::change::{self, CHANGE_HEAD_BYTES, KIND_ACCOUNT};
use crate::rows::keys;
use crate::rows::record::{self, AccountUpdate, Block};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::tables::Db;
use sys::error::Result;

/// Two rows of this size fill an LMDB page. Longer rows would need overflow pages, which leave gaps
/// when dropped.
pub(crate) const CHUNK_BYTES: usize = 2016;
/// The key in `meta` of the feed's total size in bytes.
pub(crate) const FEED_BYTES: &[u8] = b"feedBytes";
/// The key in `meta` of the newest slot whose changes in the feed lack some.
const FEED_LACKS: &[u8] = b"feedLacks";

impl Store {
    /// Records that the feed lacks changes of slots up to this one: the store has accounts newer
    /// than the blocks that it applies, as after a load from an RPC.
    pub(crate) fn write_feed_lacks(&self, txn: &mut RwTxn<'_>, slot: u64) -> Result<()> {
        let slot = slot.to_be_bytes();
        Ok(self.tables.meta.put(txn, FEED_LACKS, &slot)?)
    }

    /// Adds a block's changes and drops the slots that exceed the limits: those before the newest
    /// `slots_kept`, and those over `feed_bytes_max`.
    pub(crate) fn write_feed(
        &self,
        txn: &mut RwTxn<'_>,
        block: &Block,
        accounts: &[&AccountUpdate],
        slots_kept: u64,
    ) -> Result<()> {
        let (feed, options) = (&self.tables.feed, &self.options);
        if options.feed_bytes_max == 0 {
            if !feed.is_empty(txn)? {
                feed.clear(txn)?;
                self.tables.meta.delete(txn, FEED_BYTES)?;
            }
            return Ok(());
        }
        let bytes = feed_bytes(block, accounts);
        let stored = self
            .tables
            .meta
            .get(txn, FEED_BYTES)?
            .and_then(|value| value.first_chunk());
        let mut total = stored.map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let oldest_kept = (block.slot + 1).saturating_sub(slots_kept);
        while let Some(oldest) = feed.first(txn)?.map(|(key, _)| keys::slot_of(key)) {
            if oldest >= oldest_kept && total + bytes <= options.feed_bytes_max {
                break;
            }
            total = total.saturating_sub(drop_slot(feed, txn, oldest)?);
        }
        // A slot that alone exceeds the limit is omitted; a reader can distinguish it from a slot
        // without changes.
        if bytes <= options.feed_bytes_max {
            write_slot(feed, txn, block, accounts, bytes)?;
            total += bytes;
        }
        Ok(self
            .tables
            .meta
            .put(txn, FEED_BYTES, &total.to_be_bytes())?)
    }
}

impl Snapshot<'_> {
    /// The newest slot whose changes in the feed lack some accounts; 0 if none do.
    pub fn feed_lacks(&self) -> Result<u64> {
        let stored = self.tables().meta.get(&self.txn, FEED_LACKS)?;
        let stored = stored.and_then(|slot| slot.first_chunk());
        Ok(stored.map_or(0, |slot| u64::from_be_bytes(*slot)))
    }
}

fn feed_bytes(block: &Block, accounts: &[&AccountUpdate]) -> u64 {
    let accounts = accounts
        .iter()
        .map(|update| change::account_bytes(&change::state_after(update, block.slot)));
    let transactions = block.transactions.iter().map(change::transaction_bytes);
    let bodies = accounts.chain(transactions);
    bodies.map(|body| (CHANGE_HEAD_BYTES + body) as u64).sum()
}

fn write_slot(
    feed: &Db,
    txn: &mut RwTxn<'_>,
    block: &Block,
    accounts: &[&AccountUpdate],
    bytes: u64,
) -> Result<()> {
    let changes = (accounts.len() + block.transactions.len()) as u32;
    let mut head = [0; 12];
    head[0..4].copy_from_slice(&changes.to_be_bytes());
    head[4..12].copy_from_slice(&bytes.to_be_bytes());
    feed.put_with_flags(txn, PutFlags::APPEND, &keys::chunk(block.slot, 0), &head)?;
    let mut out = Chunks {
        feed,
        slot: block.slot,
        sequence: 1,
        chunk: Vec::with_capacity(CHUNK_BYTES),
    };
    for update in accounts {
        let account = change::state_after(update, block.slot);
        out.begin(txn, KIND_ACCOUNT, change::account_bytes(&account))?;
        out.write(txn, &update.pubkey)?;
        out.write(txn, &record::encode_head(&account))?;
        out.write(txn, account.data)?;
    }
    let mut body = Vec::new();
    for update in &block.transactions {
        body.clear();
        let kind = change::push_transaction(&mut body, update);
        out.begin(txn, kind, body.len())?;
        out.write(txn, &body)?;
    }
    out.flush(txn)
}

/// Splits a slot's bytes into rows.
struct Chunks<'f> {
    feed: &'f Db,
    slot: u64,
    sequence: u32,
    chunk: Vec<u8>,
}

impl Chunks<'_> {
    fn begin(&mut self, txn: &mut RwTxn<'_>, kind: u8, body_bytes: usize) -> Result<()> {
        self.write(txn, &[kind])?;
        self.write(txn, &(body_bytes as u32).to_be_bytes())
    }

    fn write(&mut self, txn: &mut RwTxn<'_>, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK_BYTES - self.chunk.len()));
            self.chunk.extend_from_slice(now);
            bytes = later;
            if self.chunk.len() == CHUNK_BYTES {
                self.flush(txn)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, txn: &mut RwTxn<'_>) -> Result<()> {
        if !self.chunk.is_empty() {
            let key = keys::chunk(self.slot, self.sequence);
            // Slots only increase, so every row is appended.
            self.feed
                .put_with_flags(txn, PutFlags::APPEND, &key, &self.chunk)?;
            self.sequence += 1;
            self.chunk.clear();
        }
        Ok(())
    }
}

/// Drops a slot and returns its size in bytes.
fn drop_slot(feed: &Db, txn: &mut RwTxn<'_>, slot: u64) -> Result<u64> {
    let first = keys::chunk(slot, 0);
    let last = keys::chunk(slot, u32::MAX);
    let head = feed.get(txn, &first)?;
    let bytes = head
        .and_then(|head| head.last_chunk())
        .map_or(0, |bytes| u64::from_be_bytes(*bytes));
    feed.delete_range(
        txn,
        &(Bound::Included(&first[..]), Bound::Included(&last[..])),
    )?;
    Ok(bytes)
}

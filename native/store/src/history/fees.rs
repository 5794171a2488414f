//! Stores what the transactions of recent slots offered, and to whom: the price of their compute
//! units by the accounts that they lock for writing, and the lamports that accounts gained.

use std::ops::Bound;

use heed::{PutFlags, RwTxn};

use crate::options::BLOCKS_KEPT;
use crate::rows::keys;
use crate::rows::record::{Block, TransactionCost, TransactionUpdate};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::tables::Db;
use primitives::Pubkey;
use sys::error::{Error, Result};

/// Two rows of this size fill an LMDB page. Longer rows would need overflow pages, which leave gaps
/// when dropped.
const CHUNK_BYTES: usize = 2016;
/// The key in `meta` of the table's total size in bytes.
pub(crate) const FEES_BYTES: &[u8] = b"feesBytes";
/// Three times what 512 blocks of 300 transactions take. Beyond it the oldest slots are dropped.
const BYTES_MAX: u64 = 64 << 20;

const HAS_FAILED: u8 = 1;
const IS_VOTE: u8 = 2;
const IS_PRICED: u8 = 4;

/// An account by the first 8 bytes of its address: another account with the same ones would have to
/// be searched among 2^64, and pay as the first one does.
pub type FeeKey = u64;

/// What one transaction offered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransactionFees {
    pub has_failed: bool,
    pub is_vote: bool,
    /// In micro-lamports per compute unit; `None` if it has no limit of compute units to divide by.
    pub price: Option<u64>,
    /// The accounts that it locked for writing.
    pub writable: Vec<FeeKey>,
    /// The accounts that had more lamports after it, and how many more; none if it failed.
    pub gains: Vec<(FeeKey, u64)>,
}

/// What the transactions of one block offered, in the order of the block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockFees {
    pub slot: u64,
    pub transactions: Vec<TransactionFees>,
}

impl BlockFees {
    /// The key of an account.
    pub fn key_of(pubkey: &Pubkey) -> FeeKey {
        keys::prefix_of(pubkey)
    }
}

impl Store {
    /// Adds a block's fees and drops the slots that exceed the limits. A feed without details of
    /// transactions leaves none, not even old ones.
    pub(crate) fn write_fees(&self, txn: &mut RwTxn<'_>, block: &Block) -> Result<()> {
        let (fees, meta) = (&self.tables.fees, &self.tables.meta);
        if !block.has_details {
            if !fees.is_empty(txn)? {
                fees.clear(txn)?;
                meta.delete(txn, FEES_BYTES)?;
            }
            return Ok(());
        }
        let run = encode(&block.transactions);
        let bytes = run.len() as u64;
        let stored = meta.get(txn, FEES_BYTES)?;
        let stored = stored.and_then(|value| value.first_chunk());
        let mut total = stored.map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let oldest_kept = (block.slot + 1).saturating_sub(BLOCKS_KEPT);
        while let Some((key, head)) = fees.first(txn)? {
            let (oldest, dropped) = (keys::slot_of(key), fees_bytes(head));
            if oldest >= oldest_kept && total + bytes <= BYTES_MAX {
                break;
            }
            drop_slot(fees, txn, oldest)?;
            total = total.saturating_sub(dropped);
        }
        if bytes <= BYTES_MAX {
            // Behind all others, as the blocks are.
            let append = PutFlags::APPEND;
            let head = bytes.to_be_bytes();
            fees.put_with_flags(txn, append, &keys::chunk(block.slot, 0), &head)?;
            for (sequence, chunk) in (1..).zip(run.chunks(CHUNK_BYTES)) {
                fees.put_with_flags(txn, append, &keys::chunk(block.slot, sequence), chunk)?;
            }
            total += bytes;
        }
        Ok(meta.put(txn, FEES_BYTES, &total.to_be_bytes())?)
    }
}

impl Snapshot<'_> {
    /// The slots whose fees are stored, newest first: at most 512.
    pub fn fee_slots(&self) -> Result<Vec<u64>> {
        let fees = self.tables().fees;
        let mut slots = Vec::new();
        let newest = self.tables().blocks.rev_iter(&self.txn)?;
        for row in newest.take(BLOCKS_KEPT as usize) {
            let slot = keys::slot_of(row?.0);
            if fees.get(&self.txn, &keys::chunk(slot, 0))?.is_some() {
                slots.push(slot);
            }
        }
        Ok(slots)
    }

    /// The fees of a slot, if they are stored.
    pub fn fees(&self, slot: u64) -> Result<Option<BlockFees>> {
        let fees = self.tables().fees;
        let head = keys::chunk(slot, 0);
        let Some(bytes) = fees.get(&self.txn, &head)?.map(fees_bytes) else {
            return Ok(None);
        };
        let last = keys::chunk(slot, u32::MAX);
        let range = (Bound::Excluded(&head[..]), Bound::Included(&last[..]));
        let mut run = Vec::with_capacity(bytes.min(BYTES_MAX) as usize);
        for row in fees.range(&self.txn, &range)? {
            run.extend_from_slice(row?.1);
        }
        let damaged = || Error::Internal(format!("the fees of slot {slot} are damaged"));
        let transactions = decode(&run).filter(|_| run.len() as u64 == bytes);
        Ok(Some(BlockFees {
            slot,
            transactions: transactions.ok_or_else(damaged)?,
        }))
    }
}

/// Bytes of a slot by its first row, and of all by their total.
pub(crate) fn fees_bytes(head: &[u8]) -> u64 {
    let bytes = head.first_chunk();
    bytes.map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

fn drop_slot(fees: &Db, txn: &mut RwTxn<'_>, slot: u64) -> Result<()> {
    let (first, last) = (keys::chunk(slot, 0), keys::chunk(slot, u32::MAX));
    let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
    fees.delete_range(txn, &range)?;
    Ok(())
}

fn encode(transactions: &[TransactionUpdate]) -> Vec<u8> {
    let mut out = Vec::new();
    for update in transactions {
        let Some(details) = &update.details else {
            continue;
        };
        let TransactionCost {
            price,
            writable,
            gains,
        } = &*details.cost;
        let key = |position: &u8| details.keys.get(usize::from(*position));
        let writable: Vec<_> = writable.iter().filter_map(key).take(255).collect();
        let gains = gains.iter().filter_map(|(at, gain)| Some((key(at)?, gain)));
        let gains: Vec<_> = gains.take(255).collect();
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(
            flag(update.error.is_some(), HAS_FAILED)
                | flag(details.is_vote, IS_VOTE)
                | flag(price.is_some(), IS_PRICED),
        );
        out.extend_from_slice(&price.unwrap_or(0).to_be_bytes());
        out.extend_from_slice(&[writable.len() as u8, gains.len() as u8]);
        for key in writable {
            out.extend_from_slice(&keys::prefix_of(key).to_be_bytes());
        }
        for (key, lamports) in gains {
            out.extend_from_slice(&keys::prefix_of(key).to_be_bytes());
            out.extend_from_slice(&lamports.to_be_bytes());
        }
    }
    out
}

fn decode(mut bytes: &[u8]) -> Option<Vec<TransactionFees>> {
    let mut transactions = Vec::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_first_chunk::<11>()?;
        let [flags, price @ .., writable_count, gain_count] = *head;
        let (writable, rest) = rest.split_at_checked(8 * usize::from(writable_count))?;
        let (gains, rest) = rest.split_at_checked(16 * usize::from(gain_count))?;
        bytes = rest;
        let numbers = |bytes: &[u8]| -> Vec<u64> {
            let (numbers, _) = bytes.as_chunks();
            numbers.iter().copied().map(u64::from_be_bytes).collect()
        };
        let gains = numbers(gains);
        let (gains, _) = gains.as_chunks::<2>();
        transactions.push(TransactionFees {
            has_failed: flags & HAS_FAILED != 0,
            is_vote: flags & IS_VOTE != 0,
            price: (flags & IS_PRICED != 0).then_some(u64::from_be_bytes(price)),
            writable: numbers(writable),
            gains: gains
                .iter()
                .map(|[key, lamports]| (*key, *lamports))
                .collect(),
        });
    }
    Some(transactions)
}

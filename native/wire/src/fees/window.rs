//! The fees of the newest blocks in memory, by account.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use store::{BlockFees, FeeKey, Snapshot};
use sys::error::{Error, Result};

/// Which of the newest blocks count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// So many of those that have transactions to count.
    Blocks(usize),
    /// Those of so many milliseconds, by the slot time of the chain.
    Ms(u64),
}

/// A transaction that has a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Priced {
    pub price: u64,
    pub has_failed: bool,
    pub is_vote: bool,
}

/// The fees of one block, to be found by account.
pub(super) struct Block {
    pub slot: u64,
    pub priced: Vec<Priced>,
    /// Accounts that are locked for writing, with a position in `priced`, in order.
    locks: Vec<(FeeKey, u32)>,
    /// Accounts that gained lamports, with the position of the transaction in the block, in order.
    gains: Vec<(FeeKey, u32, u64)>,
}

impl Block {
    fn of(fees: &BlockFees) -> Block {
        let mut block = Block {
            slot: fees.slot,
            priced: Vec::new(),
            locks: Vec::new(),
            gains: Vec::new(),
        };
        for (position, transaction) in (0..).zip(&fees.transactions) {
            let gains = transaction.gains.iter();
            let gains = gains.map(|(key, lamports)| (*key, position, *lamports));
            block.gains.extend(gains);
            let Some(price) = transaction.price else {
                continue;
            };
            let index = block.priced.len() as u32;
            let locks = transaction.writable.iter().map(|key| (*key, index));
            block.locks.extend(locks);
            block.priced.push(Priced {
                price,
                has_failed: transaction.has_failed,
                is_vote: transaction.is_vote,
            });
        }
        block.locks.sort_unstable();
        block.locks.dedup();
        block.gains.sort_unstable();
        block
    }

    /// The priced transactions that lock an account for writing.
    pub fn locking(&self, key: FeeKey) -> impl Iterator<Item = &Priced> {
        let start = self.locks.partition_point(|(of, _)| *of < key);
        let locks = self.locks.get(start..).unwrap_or_default().iter();
        locks
            .take_while(move |(of, _)| *of == key)
            .filter_map(|(_, index)| self.priced.get(*index as usize))
    }

    /// Positions of the transactions by which an account gained lamports, with these.
    pub fn gains(&self, key: FeeKey) -> impl Iterator<Item = (u32, u64)> {
        let start = self.gains.partition_point(|(of, ..)| *of < key);
        let gains = self.gains.get(start..).unwrap_or_default().iter();
        gains
            .take_while(move |(of, ..)| *of == key)
            .map(|(_, position, lamports)| (*position, *lamports))
    }
}

/// The blocks whose fees a store has: at most 512 and what 64 MiB of its table become. They are
/// read when they are first needed, and each one once.
#[derive(Default)]
pub struct FeeWindow {
    blocks: Mutex<BTreeMap<u64, Arc<Block>>>,
}

impl FeeWindow {
    /// The blocks of a span that `counts` accepts, newest first. Fails for a store without a block,
    /// and for one whose feed has no details of transactions.
    pub(super) fn blocks(
        &self,
        snapshot: &Snapshot<'_>,
        span: Span,
        counts: impl Fn(&Block) -> bool,
    ) -> Result<Vec<Arc<Block>>> {
        let tip = snapshot.tip().ok_or(Error::NoIndex)?.slot;
        let (count, slots) = match span {
            Span::Blocks(count) => (count, u64::MAX),
            Span::Ms(ms) => (usize::MAX, ms.div_ceil(snapshot.slot_ms()?.max(1))),
        };
        let blocks = self.newest(snapshot)?.into_iter();
        Ok(blocks
            .take_while(|block| tip - block.slot.min(tip) < slots)
            .filter(|block| counts(block))
            .take(count)
            .collect())
    }

    fn newest(&self, snapshot: &Snapshot<'_>) -> Result<Vec<Arc<Block>>> {
        let slots = snapshot.fee_slots()?;
        let oldest = *slots.last().ok_or(Error::FeesNotFollowed)?;
        let mut known = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        *known = known.split_off(&oldest);
        let mut blocks = Vec::with_capacity(slots.len());
        for slot in slots {
            if let Some(block) = known.get(&slot) {
                blocks.push(block.clone());
            } else if let Some(fees) = snapshot.fees(slot)? {
                let block = Arc::new(Block::of(&fees));
                known.insert(slot, block.clone());
                blocks.push(block);
            }
        }
        Ok(blocks)
    }
}

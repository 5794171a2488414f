//! Whole blocks as updates.

use std::ops::Range;
use std::sync::Arc;

use yellowstone_grpc_proto::geyser::{SubscribeUpdateBlock, SubscribeUpdateBlockMeta};
use yellowstone_grpc_proto::prost::Message;
use yellowstone_grpc_proto::prost::bytes::BufMut;
use yellowstone_grpc_proto::prost_types::Timestamp;
use yellowstone_grpc_proto::solana::storage::confirmed_block::{BlockHeight, UnixTimestamp};

use crate::content::{Block, Content, Slice};
use crate::message::fields::{Info, entry_len, now, put_entry_place, put_head, sized_len};

pub fn meta_of(block: &Block) -> SubscribeUpdateBlockMeta {
    let Block {
        tip,
        parent_blockhash,
        kept,
    } = block;
    SubscribeUpdateBlockMeta {
        slot: tip.slot,
        blockhash: primitives::encoding::encode_pubkey(&tip.blockhash),
        rewards: kept.meta.rewards.clone(),
        block_time: tip.block_time.map(|timestamp| UnixTimestamp { timestamp }),
        block_height: Some(BlockHeight {
            block_height: tip.block_height,
        }),
        parent_slot: tip.parent_slot,
        parent_blockhash: primitives::encoding::encode_pubkey(parent_blockhash),
        executed_transaction_count: kept.meta.executed_transaction_count,
        entries_count: kept.meta.entries_count,
        bank_id: tip.slot,
    }
}

/// Fields of `SubscribeUpdateBlock`.
const BLOCK_TRANSACTION: u32 = 6;
const BLOCK_ACCOUNT: u32 = 11;
const BLOCK_ENTRY: u32 = 13;

/// A block for the one filter that has chosen its content.
#[derive(Debug, Clone)]
pub struct BlockUpdate {
    pub filter: Arc<str>,
    pub block: Block,
    pub content: Arc<Content>,
    pub transactions: Vec<u32>,
    pub accounts: Vec<u32>,
    /// All of them or none.
    pub entries: Range<usize>,
    pub slices: Arc<[Slice]>,
    pub created_at: Timestamp,
    /// Bytes of `SubscribeUpdateBlock`.
    length: usize,
}

impl BlockUpdate {
    /// `transactions` and `accounts` are places in the content, ascending; `entries` too.
    pub fn new(
        filter: &Arc<str>,
        block: Block,
        content: &Arc<Content>,
        ([transactions, accounts], entries): ([Vec<u32>; 2], Range<usize>),
        slices: &Arc<[Slice]>,
    ) -> BlockUpdate {
        let mut update = BlockUpdate {
            filter: Arc::clone(filter),
            block,
            content: Arc::clone(content),
            transactions,
            accounts,
            entries,
            slices: Arc::clone(slices),
            created_at: now(),
            length: 0,
        };
        update.length = update.count();
        update
    }

    /// All of `SubscribeUpdateBlock` but its transactions, accounts and entries.
    fn scalars(&self) -> SubscribeUpdateBlock {
        let SubscribeUpdateBlockMeta {
            slot,
            blockhash,
            rewards,
            block_time,
            block_height,
            parent_slot,
            parent_blockhash,
            executed_transaction_count,
            entries_count,
            bank_id,
        } = meta_of(&self.block);
        SubscribeUpdateBlock {
            slot,
            blockhash,
            rewards,
            block_time,
            block_height,
            parent_slot,
            parent_blockhash,
            executed_transaction_count,
            transactions: Vec::new(),
            updated_account_count: self.content.accounts.len() as u64,
            accounts: Vec::new(),
            entries_count,
            entries: Vec::new(),
            bank_id,
        }
    }

    fn count(&self) -> usize {
        let transaction = |&index: &u32| {
            let one = &self.content.transactions[index as usize];
            sized_len(BLOCK_TRANSACTION, self.content.full_range(one).len())
        };
        let account = |&index: &u32| sized_len(BLOCK_ACCOUNT, self.info(index).byte_count());
        self.scalars().encoded_len()
            + self.transactions.iter().map(transaction).sum::<usize>()
            + self.accounts.iter().map(account).sum::<usize>()
            + self
                .entries
                .clone()
                .map(|index| sized_len(BLOCK_ENTRY, self.entry_len(index)))
                .sum::<usize>()
    }

    pub fn byte_count(&self) -> usize {
        sized_len(1, self.filter.len())
            + sized_len(5, self.length)
            + sized_len(11, self.created_at.encoded_len())
    }

    /// All before the transactions, then the accounts, and then the entries: these end the message.
    pub fn put_head(&self, out: &mut impl BufMut) {
        put_head(out, 1, self.filter.len());
        out.put_slice(self.filter.as_bytes());
        put_head(out, 11, self.created_at.encoded_len());
        self.created_at.encode_raw(out);
        put_head(out, 5, self.length);
        self.scalars().encode_raw(out);
    }

    /// The head of a transaction, and where its bytes are in the content.
    pub fn put_transaction(&self, index: u32, out: &mut impl BufMut) -> Range<usize> {
        let one = &self.content.transactions[index as usize];
        let range = self.content.full_range(one);
        put_head(out, BLOCK_TRANSACTION, range.len());
        range
    }

    /// The same of an account.
    pub fn put_account(
        &self,
        index: u32,
        out: &mut impl BufMut,
    ) -> impl Iterator<Item = Range<usize>> {
        let info = self.info(index);
        put_head(out, BLOCK_ACCOUNT, info.byte_count());
        info.put_head(out);
        info.into_data()
    }

    fn entry_len(&self, index: usize) -> usize {
        entry_len(self.content.entries[index].len(), self.content.slot)
    }

    /// A whole entry.
    pub fn put_entry(&self, index: usize, out: &mut impl BufMut) {
        put_head(out, BLOCK_ENTRY, self.entry_len(index));
        out.put_slice(self.content.bytes(self.content.entries[index].clone()));
        put_entry_place(out, self.content.slot);
    }

    fn info(&self, index: u32) -> Info<'_> {
        Info::of(&self.content, index as usize, &self.slices)
    }
}

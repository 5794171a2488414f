//! Updates of a subscription. Those of accounts are written from the shared content of their slot;
//! all others are small, and made by prost.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::{
    SlotStatus, SubscribeUpdate, SubscribeUpdateBlockMeta, SubscribeUpdatePing,
    SubscribeUpdatePong, SubscribeUpdateSlot, SubscribeUpdateTransactionInfo,
    SubscribeUpdateTransactionStatus,
};
use yellowstone_grpc_proto::prost::Message;
use yellowstone_grpc_proto::prost::bytes::BufMut;
use yellowstone_grpc_proto::prost::encoding::{
    WireType, encode_key, encode_varint, encoded_len_varint, key_len,
};
use yellowstone_grpc_proto::prost_types::Timestamp;
use yellowstone_grpc_proto::solana::storage::confirmed_block::{
    BlockHeight, TransactionError, UnixTimestamp,
};

use crate::content::{Block, Content, Slice};

/// The write version of an account: its slot and its place among the accounts of the slot, so that
/// a later write always has a higher one, on any machine.
const WRITES_OF_SLOT: u64 = 1 << 20;

/// One message to a client.
#[derive(Debug, Clone)]
pub enum Update {
    Account(Box<AccountUpdate>),
    Transaction(Box<TransactionUpdate>),
    Other(Box<SubscribeUpdate>),
}

/// An account of a slot, for the filters that it passes.
#[derive(Debug, Clone)]
pub struct AccountUpdate {
    pub filters: Vec<Arc<str>>,
    pub content: Arc<Content>,
    /// Its place in the content.
    pub index: usize,
    pub slices: Arc<[Slice]>,
    pub created_at: Timestamp,
}

/// A transaction of a slot, for the filters that it passes, as the feed has sent it.
#[derive(Debug, Clone)]
pub struct TransactionUpdate {
    pub filters: Vec<Arc<str>>,
    pub content: Arc<Content>,
    /// Its place in the content.
    pub index: usize,
    pub created_at: Timestamp,
}

pub fn now() -> Timestamp {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp {
        seconds: elapsed.as_secs() as i64,
        nanos: elapsed.subsec_nanos() as i32,
    }
}

fn other(filters: &[Arc<str>], update: UpdateOneof) -> Update {
    Update::Other(Box::new(SubscribeUpdate {
        filters: filters.iter().map(|name| name.to_string()).collect(),
        created_at: Some(now()),
        update_oneof: Some(update),
    }))
}

pub fn ping() -> Update {
    other(&[], UpdateOneof::Ping(SubscribeUpdatePing {}))
}

pub fn pong(id: i32) -> Update {
    other(&[], UpdateOneof::Pong(SubscribeUpdatePong { id }))
}

/// A confirmed slot has one bank: it is named by its slot.
pub fn slot(filters: &[Arc<str>], block: &Block, status: SlotStatus) -> Update {
    let update = SubscribeUpdateSlot {
        slot: block.tip.slot,
        parent: Some(block.tip.parent_slot),
        status: status as i32,
        dead_error: None,
        bank_id: Some(block.tip.slot),
    };
    other(filters, UpdateOneof::Slot(update))
}

/// The outcome of a transaction.
pub fn transaction_status(filters: &[Arc<str>], content: &Content, index: usize) -> Update {
    let one = &content.transactions[index];
    let info = SubscribeUpdateTransactionInfo::decode(content.full(one)).unwrap_or_default();
    let update = SubscribeUpdateTransactionStatus {
        slot: content.slot,
        signature: one.signature.to_vec(),
        is_vote: one.is_vote,
        index: info.index,
        err: one.error.as_ref().map(|error| TransactionError {
            err: error.to_vec(),
        }),
        bank_id: content.slot,
    };
    other(filters, UpdateOneof::TransactionStatus(update))
}

/// The index keeps no counts and no rewards of a block.
pub fn block_meta(filters: &[Arc<str>], block: &Block) -> Update {
    let Block {
        tip,
        parent_blockhash,
    } = block;
    let update = SubscribeUpdateBlockMeta {
        slot: tip.slot,
        blockhash: primitives::encoding::encode_pubkey(&tip.blockhash),
        rewards: None,
        block_time: tip.block_time.map(|timestamp| UnixTimestamp { timestamp }),
        block_height: Some(BlockHeight {
            block_height: tip.block_height,
        }),
        parent_slot: tip.parent_slot,
        parent_blockhash: primitives::encoding::encode_pubkey(parent_blockhash),
        executed_transaction_count: 0,
        entries_count: 0,
        bank_id: tip.slot,
    };
    other(filters, UpdateOneof::BlockMeta(update))
}

impl Update {
    /// The exact length of what `encode` writes.
    pub fn byte_count(&self) -> usize {
        match self {
            Update::Account(account) => account.byte_count(),
            Update::Transaction(transaction) => transaction.byte_count(),
            Update::Other(update) => update.encoded_len(),
        }
    }

    pub fn encode(&self, out: &mut impl BufMut) {
        match self {
            Update::Account(account) => account.encode(out),
            Update::Transaction(transaction) => transaction.encode(out),
            Update::Other(update) => update.encode_raw(out),
        }
    }
}

/// Bytes of a field that is written with its length.
fn sized_len(tag: u32, length: usize) -> usize {
    key_len(tag) + encoded_len_varint(length as u64) + length
}

/// Bytes of a number; proto3 leaves out zeros.
fn number_len(tag: u32, value: u64) -> usize {
    match value {
        0 => 0,
        _ => key_len(tag) + encoded_len_varint(value),
    }
}

fn put_head(out: &mut impl BufMut, tag: u32, length: usize) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(length as u64, out);
}

fn put_number(out: &mut impl BufMut, tag: u32, value: u64) {
    if value != 0 {
        encode_key(tag, WireType::Varint, out);
        encode_varint(value, out);
    }
}

impl AccountUpdate {
    fn write_version(&self) -> u64 {
        let index = (self.index as u64).min(WRITES_OF_SLOT - 1);
        self.content.slot * WRITES_OF_SLOT + index
    }

    /// Lengths of the data, of `SubscribeUpdateAccountInfo`, and of `SubscribeUpdateAccount`.
    fn lengths(&self) -> (usize, usize, usize) {
        let entry = &self.content.accounts[self.index];
        let data = self.content.data_len(entry, &self.slices);
        let info = sized_len(1, 32)
            + number_len(2, entry.lamports)
            + sized_len(3, 32)
            + number_len(4, u64::from(entry.executable))
            + number_len(5, entry.rent_epoch)
            + if data == 0 { 0 } else { sized_len(6, data) }
            + number_len(7, self.write_version());
        let slot = self.content.slot;
        // Of an optional number zero is written, too.
        let bank = key_len(4) + encoded_len_varint(slot);
        (data, info, sized_len(1, info) + number_len(2, slot) + bank)
    }

    fn byte_count(&self) -> usize {
        let names = self.filters.iter().map(|name| sized_len(1, name.len()));
        let (_, _, account) = self.lengths();
        names.sum::<usize>() + sized_len(2, account) + sized_len(11, self.created_at.encoded_len())
    }

    fn encode(&self, out: &mut impl BufMut) {
        let entry = &self.content.accounts[self.index];
        let (data, info, account) = self.lengths();
        for name in &self.filters {
            put_head(out, 1, name.len());
            out.put_slice(name.as_bytes());
        }
        put_head(out, 2, account);
        put_head(out, 1, info);
        put_head(out, 1, 32);
        out.put_slice(&entry.pubkey);
        put_number(out, 2, entry.lamports);
        put_head(out, 3, 32);
        out.put_slice(&entry.owner);
        put_number(out, 4, u64::from(entry.executable));
        put_number(out, 5, entry.rent_epoch);
        if data != 0 {
            put_head(out, 6, data);
            self.content
                .each_slice(entry, &self.slices, |bytes| out.put_slice(bytes));
        }
        put_number(out, 7, self.write_version());
        put_number(out, 2, self.content.slot);
        encode_key(4, WireType::Varint, out);
        encode_varint(self.content.slot, out);
        put_head(out, 11, self.created_at.encoded_len());
        self.created_at.encode_raw(out);
    }
}

impl TransactionUpdate {
    fn full(&self) -> &[u8] {
        self.content.full(&self.content.transactions[self.index])
    }

    /// The length of `SubscribeUpdateTransaction`.
    fn length(&self) -> usize {
        let slot = self.content.slot;
        sized_len(1, self.full().len()) + number_len(2, slot) + number_len(3, slot)
    }

    fn byte_count(&self) -> usize {
        let names = self.filters.iter().map(|name| sized_len(1, name.len()));
        names.sum::<usize>()
            + sized_len(4, self.length())
            + sized_len(11, self.created_at.encoded_len())
    }

    fn encode(&self, out: &mut impl BufMut) {
        for name in &self.filters {
            put_head(out, 1, name.len());
            out.put_slice(name.as_bytes());
        }
        put_head(out, 4, self.length());
        put_head(out, 1, self.full().len());
        out.put_slice(self.full());
        put_number(out, 2, self.content.slot);
        put_number(out, 3, self.content.slot);
        put_head(out, 11, self.created_at.encoded_len());
        self.created_at.encode_raw(out);
    }
}

//! Updates of a subscription. Those of accounts are written from the shared content of their slot;
//! all others are small, and made by prost.

pub mod blocks;
pub mod fields;

use std::sync::Arc;

use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::subscribe_update_deshred::UpdateOneof as DeshredOneof;
use yellowstone_grpc_proto::geyser::{
    SlotStatus, SubscribeUpdate, SubscribeUpdateDeshred, SubscribeUpdatePing, SubscribeUpdatePong,
    SubscribeUpdateSlot, SubscribeUpdateTransactionInfo, SubscribeUpdateTransactionStatus,
};
use yellowstone_grpc_proto::prost::Message;
use yellowstone_grpc_proto::prost::bytes::BufMut;
use yellowstone_grpc_proto::prost::encoding::{
    WireType, encode_key, encode_varint, encoded_len_varint, key_len,
};
use yellowstone_grpc_proto::prost_types::Timestamp;
use yellowstone_grpc_proto::solana::storage::confirmed_block::TransactionError;

use crate::content::{Block, Content, Slice};
use blocks::{BlockUpdate, meta_of};
use fields::{Info, entry_len, now, number_len, put_entry_place, put_head, put_number, sized_len};

/// One message to a client.
#[derive(Debug, Clone)]
pub enum Update {
    Account(Box<AccountUpdate>),
    Transaction(Box<TransactionUpdate>),
    Entry(Box<EntryUpdate>),
    /// It is sent in pieces, and not by `encode`.
    Block(Box<BlockUpdate>),
    Other(Box<SubscribeUpdate>),
    /// Of `SubscribeDeshred`, all but transactions.
    Deshred(Box<SubscribeUpdateDeshred>),
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
    /// It is of `SubscribeDeshred`, whose messages have other fields.
    pub is_deshred: bool,
}

/// An entry of a slot, as the feed has sent it.
#[derive(Debug, Clone)]
pub struct EntryUpdate {
    pub filters: Arc<[Arc<str>]>,
    pub content: Arc<Content>,
    /// Its place in the content.
    pub index: usize,
    pub created_at: Timestamp,
}

pub fn names(filters: &[Arc<str>]) -> Vec<String> {
    filters.iter().map(|name| name.to_string()).collect()
}

/// A small update, of a time.
pub fn made(filters: &[Arc<str>], created_at: Timestamp, update: UpdateOneof) -> Update {
    Update::Other(Box::new(SubscribeUpdate {
        filters: names(filters),
        created_at: Some(created_at),
        update_oneof: Some(update),
    }))
}

fn other(filters: &[Arc<str>], update: UpdateOneof) -> Update {
    made(filters, now(), update)
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
pub fn transaction_status(
    filters: &[Arc<str>],
    content: &Content,
    index: usize,
    created_at: Timestamp,
) -> Update {
    let one = &content.transactions[index];
    let info = SubscribeUpdateTransactionInfo::decode(content.full(one)).unwrap_or_default();
    let (slot, bank_id) = content.place(one);
    let update = SubscribeUpdateTransactionStatus {
        slot,
        signature: one.signature.to_vec(),
        is_vote: one.is_vote,
        index: info.index,
        err: one.error.as_ref().map(|error| TransactionError {
            err: error.to_vec(),
        }),
        bank_id,
    };
    made(filters, created_at, UpdateOneof::TransactionStatus(update))
}

pub fn block_meta(filters: &[Arc<str>], block: &Block) -> Update {
    other(filters, UpdateOneof::BlockMeta(meta_of(block)))
}

/// The footer of a block, if the source has sent one.
pub fn block_footer(filters: &[Arc<str>], block: &Block, has_certificates: bool) -> Option<Update> {
    let mut footer = block.kept.footer.clone()?;
    (footer.slot, footer.bank_id) = (block.tip.slot, block.tip.slot);
    if !has_certificates {
        footer.block_final_cert = None;
        footer.skip_reward_cert = None;
        footer.notar_reward_cert = None;
    }
    Some(other(filters, UpdateOneof::BlockFooter(footer)))
}

impl Update {
    /// The exact length of what `encode` writes.
    pub fn byte_count(&self) -> usize {
        match self {
            Update::Account(account) => account.byte_count(),
            Update::Transaction(transaction) => transaction.byte_count(),
            Update::Entry(entry) => entry.byte_count(),
            Update::Block(block) => block.byte_count(),
            Update::Other(update) => update.encoded_len(),
            Update::Deshred(update) => update.encoded_len(),
        }
    }

    pub fn encode(&self, out: &mut impl BufMut) {
        match self {
            Update::Account(account) => account.encode(out),
            Update::Transaction(transaction) => transaction.encode(out),
            Update::Entry(entry) => entry.encode(out),
            Update::Block(_) => debug_assert!(false, "a block is sent in pieces"),
            Update::Other(update) => update.encode_raw(out),
            Update::Deshred(update) => update.encode_raw(out),
        }
    }

    /// The same in the messages of `SubscribeDeshred`, which has nothing but these beside its own.
    pub fn into_deshred(self) -> Update {
        let Update::Other(update) = self else {
            return self;
        };
        let of = match update.update_oneof {
            Some(UpdateOneof::Ping(ping)) => DeshredOneof::Ping(ping),
            Some(UpdateOneof::Pong(pong)) => DeshredOneof::Pong(pong),
            Some(UpdateOneof::Slot(slot)) => DeshredOneof::Slot(slot),
            _ => return Update::Other(update),
        };
        Update::Deshred(Box::new(SubscribeUpdateDeshred {
            filters: update.filters,
            created_at: update.created_at,
            update_oneof: Some(of),
        }))
    }
}

impl AccountUpdate {
    fn info(&self) -> Info<'_> {
        Info::of(&self.content, self.index, &self.slices)
    }

    /// The slot and the bank; one that is passed through has a bank only where the source names it.
    fn place(&self) -> (u64, Option<u64>) {
        match &self.content.accounts[self.index].origin {
            Some(origin) => (origin.slot, origin.bank),
            None => (self.content.slot, Some(self.content.slot)),
        }
    }

    /// The length of `SubscribeUpdateAccount`.
    fn length(&self, info: usize) -> usize {
        let (slot, bank) = self.place();
        // Of an optional number zero is written, too.
        let bank = bank.map_or(0, |bank| key_len(4) + encoded_len_varint(bank));
        sized_len(1, info) + number_len(2, slot) + bank
    }

    fn byte_count(&self) -> usize {
        let names = self.filters.iter().map(|name| sized_len(1, name.len()));
        let account = self.length(self.info().byte_count());
        names.sum::<usize>() + sized_len(2, account) + sized_len(11, self.created_at.encoded_len())
    }

    fn encode(&self, out: &mut impl BufMut) {
        let info = self.info();
        let info_bytes = info.byte_count();
        for name in &self.filters {
            put_head(out, 1, name.len());
            out.put_slice(name.as_bytes());
        }
        put_head(out, 2, self.length(info_bytes));
        put_head(out, 1, info_bytes);
        info.put_head(out);
        for range in info.into_data() {
            out.put_slice(self.content.bytes(range));
        }
        let (slot, bank) = self.place();
        put_number(out, 2, slot);
        if let Some(bank) = bank {
            encode_key(4, WireType::Varint, out);
            encode_varint(bank, out);
        }
        put_head(out, 11, self.created_at.encoded_len());
        self.created_at.encode_raw(out);
    }
}

impl TransactionUpdate {
    fn full(&self) -> &[u8] {
        self.content.full(&self.content.transactions[self.index])
    }

    /// The slot and the bank; a transaction of `SubscribeDeshred` has no bank yet, which is 0.
    fn place(&self) -> (u64, u64) {
        let (slot, bank) = self.content.place(&self.content.transactions[self.index]);
        (slot, if self.is_deshred { 0 } else { bank })
    }

    /// The fields of the transaction and of the time.
    fn fields(&self) -> (u32, u32) {
        if self.is_deshred { (2, 5) } else { (4, 11) }
    }

    /// The length of `SubscribeUpdateTransaction`, or of its pendant.
    fn length(&self) -> usize {
        let (slot, bank) = self.place();
        sized_len(1, self.full().len()) + number_len(2, slot) + number_len(3, bank)
    }

    fn byte_count(&self) -> usize {
        let names = self.filters.iter().map(|name| sized_len(1, name.len()));
        let (field, time) = self.fields();
        names.sum::<usize>()
            + sized_len(field, self.length())
            + sized_len(time, self.created_at.encoded_len())
    }

    fn encode(&self, out: &mut impl BufMut) {
        for name in &self.filters {
            put_head(out, 1, name.len());
            out.put_slice(name.as_bytes());
        }
        let ((field, time), (slot, bank)) = (self.fields(), self.place());
        put_head(out, field, self.length());
        put_head(out, 1, self.full().len());
        out.put_slice(self.full());
        put_number(out, 2, slot);
        put_number(out, 3, bank);
        put_head(out, time, self.created_at.encoded_len());
        self.created_at.encode_raw(out);
    }
}

impl EntryUpdate {
    fn kept(&self) -> &[u8] {
        self.content.bytes(self.content.entries[self.index].clone())
    }

    fn length(&self) -> usize {
        entry_len(self.kept().len(), self.content.slot)
    }

    fn byte_count(&self) -> usize {
        let names = self.filters.iter().map(|name| sized_len(1, name.len()));
        names.sum::<usize>()
            + sized_len(8, self.length())
            + sized_len(11, self.created_at.encoded_len())
    }

    fn encode(&self, out: &mut impl BufMut) {
        for name in self.filters.iter() {
            put_head(out, 1, name.len());
            out.put_slice(name.as_bytes());
        }
        put_head(out, 8, self.length());
        out.put_slice(self.kept());
        put_entry_place(out, self.content.slot);
        put_head(out, 11, self.created_at.encoded_len());
        self.created_at.encode_raw(out);
    }
}

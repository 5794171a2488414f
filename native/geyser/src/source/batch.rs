//! Updates of a source that came together, in the form in which filters read them.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use yellowstone_grpc_proto::geyser::{
    SubscribeUpdateAccount, SubscribeUpdateBlockMeta, SubscribeUpdateDeshredTransaction,
    SubscribeUpdateDeshredUpdateParent, SubscribeUpdateSlot, SubscribeUpdateTransaction,
};
use yellowstone_grpc_proto::prost::Message;
use yellowstone_grpc_proto::prost_types::Timestamp;
use yellowstone_grpc_proto::solana::storage::confirmed_block::Transaction as Signed;

use crate::content::{Account, Content, Origin, Transaction};
use crate::message::fields::now;

/// A batch that has these bytes or updates is complete.
const BYTES_MAX: usize = 1024 * 1024;
const ITEMS_MAX: usize = 256;
/// Bytes of an item in the list, and of what an account has beside.
const ITEM_BYTES: usize = 64;
const ORIGIN_BYTES: usize = 160;

/// An update, by its place in the content of its batch or by itself.
#[derive(Debug)]
pub enum Item {
    Account(u32),
    Transaction(u32),
    Slot(SubscribeUpdateSlot),
    Meta(Box<SubscribeUpdateBlockMeta>),
    Parent(SubscribeUpdateDeshredUpdateParent),
}

/// Updates in the order of the source, each with its time. No account is in it twice.
#[derive(Debug)]
pub struct Batch {
    pub content: Arc<Content>,
    pub items: Vec<(Timestamp, Item)>,
}

/// An update that breaks the protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// Makes batches of updates.
pub struct Batches {
    resident: Arc<AtomicUsize>,
    open: Option<(Content, Vec<(Timestamp, Item)>)>,
    /// Bytes of the open one, counted roughly, and those outside of its content.
    bytes: usize,
    more: usize,
    complete: Vec<Batch>,
    /// The newest slot of any update.
    pub slot: u64,
}

fn fixed<const N: usize>(bytes: &[u8], what: &'static str) -> Result<[u8; N], Malformed> {
    bytes.try_into().map_err(|_| Malformed(what))
}

/// A transaction with the addresses that its tables load; without an outcome and an origin.
fn transaction_of(
    signature: &[u8],
    is_vote: bool,
    signed: Option<Signed>,
    [writable, readonly]: [&[Vec<u8>]; 2],
) -> Result<Transaction, Malformed> {
    let message = signed.and_then(|one| one.message);
    let message = message.ok_or(Malformed("a message"))?;
    let keys = message.account_keys.iter().chain(writable).chain(readonly);
    let keys = keys.map(|key| fixed(key, "an account key"));
    Ok(Transaction {
        signature: fixed(signature, "a signature")?,
        is_vote,
        error: None,
        keys: keys.collect::<Result<_, _>>()?,
        origin: None,
        full: 0..0,
        owners: OnceLock::new(),
    })
}

impl Batches {
    /// `resident` counts the bytes of all batches.
    pub fn new(resident: &Arc<AtomicUsize>) -> Batches {
        Batches {
            resident: Arc::clone(resident),
            open: None,
            bytes: 0,
            more: 0,
            complete: Vec::new(),
            slot: 0,
        }
    }

    /// All batches, of which the last one is complete now.
    pub fn take(&mut self) -> Vec<Batch> {
        self.close();
        std::mem::take(&mut self.complete)
    }

    fn close(&mut self) {
        if let Some((mut content, items)) = self.open.take() {
            content.count(self.more + items.len() * ITEM_BYTES);
            let content = Arc::new(content);
            self.complete.push(Batch { content, items });
        }
        (self.bytes, self.more) = (0, 0);
    }

    /// Adds an update to the open batch: its bytes, and those that are not in the content.
    fn add(
        &mut self,
        (slot, created_at): (u64, Option<Timestamp>),
        (bytes, more): (usize, usize),
        push: impl FnOnce(&mut Content) -> Item,
    ) {
        self.slot = self.slot.max(slot);
        let empty = || (Content::empty(slot, &self.resident), Vec::new());
        let (content, items) = self.open.get_or_insert_with(empty);
        // With its newest slot a batch counts as held by a stream.
        content.slot = content.slot.max(slot);
        let item = push(content);
        items.push((created_at.unwrap_or_else(now), item));
        self.bytes += bytes;
        self.more += more;
        if self.bytes >= BYTES_MAX || items.len() >= ITEMS_MAX {
            self.close();
        }
    }

    pub fn account(
        &mut self,
        update: SubscribeUpdateAccount,
        created_at: Option<Timestamp>,
    ) -> Result<(), Malformed> {
        // A copy from the start of a validator is no change.
        if update.is_startup {
            return Ok(());
        }
        let info = update.account.ok_or(Malformed("an account"))?;
        let account = Account {
            pubkey: fixed(&info.pubkey, "a pubkey")?,
            owner: fixed(&info.owner, "an owner")?,
            lamports: info.lamports,
            rent_epoch: info.rent_epoch,
            executable: info.executable,
            is_signed: info.txn_signature.is_some(),
            data: 0..0,
            origin: Some(Box::new(Origin {
                slot: update.slot,
                bank: update.bank_id,
                write_version: info.write_version,
                signature: info.txn_signature,
            })),
        };
        let open = self.open.as_ref();
        if open.is_some_and(|(content, _)| content.find(&account.pubkey).is_some()) {
            self.close();
        }
        let bytes = (info.data.len() + ORIGIN_BYTES, ORIGIN_BYTES);
        self.add((update.slot, created_at), bytes, |content| {
            content.push_account(account, &info.data);
            Item::Account(content.accounts.len() as u32 - 1)
        });
        Ok(())
    }

    pub fn transaction(
        &mut self,
        update: SubscribeUpdateTransaction,
        created_at: Option<Timestamp>,
    ) -> Result<(), Malformed> {
        let info = update.transaction.ok_or(Malformed("a transaction"))?;
        let full = info.encode_to_vec();
        let meta = info.meta.ok_or(Malformed("a meta"))?;
        let loaded = [
            &meta.loaded_writable_addresses[..],
            &meta.loaded_readonly_addresses,
        ];
        let transaction = Transaction {
            error: meta.err.map(|error| error.err.into()),
            origin: Some((update.slot, update.bank_id)),
            ..transaction_of(&info.signature, info.is_vote, info.transaction, loaded)?
        };
        self.push_transaction((update.slot, created_at), transaction, &full);
        Ok(())
    }

    pub fn deshred(
        &mut self,
        update: SubscribeUpdateDeshredTransaction,
        created_at: Option<Timestamp>,
    ) -> Result<(), Malformed> {
        let info = update.transaction.ok_or(Malformed("a transaction"))?;
        let full = info.encode_to_vec();
        let loaded = [
            &info.loaded_writable_addresses[..],
            &info.loaded_readonly_addresses,
        ];
        let transaction = Transaction {
            origin: Some((update.slot, 0)),
            ..transaction_of(&info.signature, info.is_vote, info.transaction, loaded)?
        };
        self.push_transaction((update.slot, created_at), transaction, &full);
        Ok(())
    }

    fn push_transaction(
        &mut self,
        at: (u64, Option<Timestamp>),
        transaction: Transaction,
        full: &[u8],
    ) {
        self.add(at, (full.len(), 0), |content| {
            content.push_transaction(transaction, full);
            Item::Transaction(content.transactions.len() as u32 - 1)
        });
    }

    pub fn slot(&mut self, update: SubscribeUpdateSlot, created_at: Option<Timestamp>) {
        let bytes = update.encoded_len();
        self.add((update.slot, created_at), (bytes, bytes), |_| {
            Item::Slot(update)
        });
    }

    pub fn meta(&mut self, update: SubscribeUpdateBlockMeta, created_at: Option<Timestamp>) {
        // Its rewards take more in memory than on the wire.
        let bytes = 4 * update.encoded_len();
        self.add((update.slot, created_at), (bytes, bytes), |_| {
            Item::Meta(Box::new(update))
        });
    }

    pub fn parent(
        &mut self,
        update: SubscribeUpdateDeshredUpdateParent,
        created_at: Option<Timestamp>,
    ) {
        let bytes = update.encoded_len();
        self.add((update.slot, created_at), (bytes, bytes), |_| {
            Item::Parent(update)
        });
    }
}

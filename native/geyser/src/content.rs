//! What one slot has changed, shared by all streams that are at it.

use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use primitives::Pubkey;
use store::{Change, FeedEnd, FeedPosition, Part, Snapshot, Tip};
use sys::error::Result;
use tonic::Status;
use yellowstone_grpc_proto::geyser::{SubscribeUpdateBlockFooter, SubscribeUpdateBlockMeta};
use yellowstone_grpc_proto::prost::Message;

use crate::status::damaged;
use crate::token_owners::TokenOwners;

/// A block, with the hash of the one before it.
#[derive(Debug, Clone)]
pub struct Block {
    pub tip: Tip,
    pub parent_blockhash: [u8; 32],
    pub kept: Arc<KeptOfBlock>,
}

impl Block {
    /// Fails if what is kept of it cannot be read any more.
    pub fn check_kept(&self) -> std::result::Result<(), Status> {
        match self.kept.is_damaged {
            true => Err(damaged(self.tip.slot)),
            false => Ok(()),
        }
    }

    /// It has at least one entry.
    pub fn lacks_entries(&self, content: &Content) -> bool {
        let count = content.entries.len() as u64;
        count == 0 || count < self.kept.meta.entries_count
    }
}

/// What the index keeps of a block beside its changes and its entries.
#[derive(Debug, Default)]
pub struct KeptOfBlock {
    /// Its counts and its rewards; those of a slot from before they were kept are 0 and absent.
    pub meta: SubscribeUpdateBlockMeta,
    /// Without slot and bank.
    pub footer: Option<SubscribeUpdateBlockFooter>,
    /// It cannot be read any more.
    pub is_damaged: bool,
}

impl KeptOfBlock {
    pub fn read(snapshot: &Snapshot<'_>, slot: u64) -> Result<KeptOfBlock> {
        let mut kept = KeptOfBlock::default();
        let mut is_whole = true;
        let end = snapshot.feed_parts(slot, false, &mut |part| match part {
            Part::Meta(bytes) => match SubscribeUpdateBlockMeta::decode(bytes) {
                Ok(meta) => kept.meta = meta,
                Err(_) => is_whole = false,
            },
            Part::Footer(bytes) => match SubscribeUpdateBlockFooter::decode(bytes) {
                Ok(footer) => kept.footer = Some(footer),
                Err(_) => is_whole = false,
            },
            Part::Entry(_) => {}
        })?;
        kept.is_damaged = !is_whole || end == FeedEnd::Damaged;
        Ok(kept)
    }
}

/// A part of the data of accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    pub offset: u64,
    pub length: u64,
}

/// An account as its slot left it.
#[derive(Debug)]
pub struct Account {
    pub pubkey: Pubkey,
    pub owner: Pubkey,
    pub lamports: u64,
    pub rent_epoch: u64,
    pub executable: bool,
    /// The feed names a transaction that wrote it.
    pub is_signed: bool,
    /// Where the content has its data.
    pub data: Range<usize>,
    /// Of an update that is passed through.
    pub origin: Option<Box<Origin>>,
}

/// What the source says of an account that the index would not keep.
#[derive(Debug)]
pub struct Origin {
    pub slot: u64,
    pub bank: Option<u64>,
    pub write_version: u64,
    pub signature: Option<Vec<u8>>,
}

/// A transaction of a slot.
#[derive(Debug)]
pub struct Transaction {
    pub signature: [u8; 64],
    pub is_vote: bool,
    /// The feed's bincode of a TransactionError.
    pub error: Option<Box<[u8]>>,
    /// All accounts of the transaction, including loaded ones.
    pub keys: Box<[Pubkey]>,
    /// Slot and bank of an update that is passed through; others have those of their content.
    pub origin: Option<(u64, u64)>,
    /// Where the content has its protobuf.
    pub full: Range<usize>,
    pub owners: OnceLock<TokenOwners>,
}

/// The accounts and transactions of a slot, and where each is.
#[derive(Debug)]
pub struct Content {
    pub slot: u64,
    pub accounts: Vec<Account>,
    pub transactions: Vec<Transaction>,
    /// Some of its transactions are not kept whole.
    pub lacks_transactions: bool,
    /// Where the entries are: protobuf of SubscribeUpdateEntry, without slot and bank.
    pub entries: Vec<Range<usize>>,
    data: Vec<u8>,
    by_pubkey: HashMap<Pubkey, u32>,
    by_owner: HashMap<Pubkey, Vec<u32>>,
    by_named: HashMap<Pubkey, Vec<u32>>,
    /// What all contents take, from which this one is subtracted where it is dropped.
    resident: Arc<AtomicUsize>,
    counted: AtomicUsize,
}

/// Bytes of an account beside its data, in the list and in the two maps.
const ACCOUNT_BYTES: usize = 256;
/// Bytes of a transaction beside its protobuf, and of one of its keys in the list and in the map.
const TRANSACTION_BYTES: usize = 192;
const KEY_BYTES: usize = 64;

/// Bytes of an entry beside its protobuf.
const ENTRY_BYTES: usize = 16;

/// Why the changes of a slot cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// They are not kept any more.
    NotKept,
    /// Their segment is damaged.
    Damaged,
}

impl Content {
    /// Reads the changes of a slot, or why they cannot be read.
    pub fn read(
        snapshot: &Snapshot<'_>,
        slot: u64,
        resident: &Arc<AtomicUsize>,
    ) -> Result<std::result::Result<Content, Missing>> {
        let mut content = Content::empty(slot, resident);
        let end = snapshot.feed_from(slot, FeedPosition::default(), &mut |change| {
            match change {
                Change::Account {
                    pubkey,
                    account,
                    is_signed,
                } => content.push(pubkey, &account, is_signed),
                Change::Status { .. } => content.lacks_transactions = true,
                transaction @ Change::Transaction { .. } => content.push_change(&transaction),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let end = match end {
            FeedEnd::Whole(_) => snapshot.feed_parts(slot, true, &mut |part| {
                if let Part::Entry(bytes) = part {
                    content.push_entry(bytes);
                }
            })?,
            other => other,
        };
        content.count(0);
        Ok(match end {
            FeedEnd::Whole(_) => Ok(content),
            FeedEnd::Damaged => Err(Missing::Damaged),
            FeedEnd::Absent | FeedEnd::Stopped(_) => Err(Missing::NotKept),
        })
    }

    pub fn empty(slot: u64, resident: &Arc<AtomicUsize>) -> Content {
        Content {
            slot,
            accounts: Vec::new(),
            transactions: Vec::new(),
            lacks_transactions: false,
            entries: Vec::new(),
            data: Vec::new(),
            by_pubkey: HashMap::new(),
            by_owner: HashMap::new(),
            by_named: HashMap::new(),
            resident: Arc::clone(resident),
            counted: AtomicUsize::new(0),
        }
    }

    fn push(&mut self, pubkey: &Pubkey, account: &store::AccountRef<'_>, is_signed: bool) {
        let entry = Account {
            pubkey: *pubkey,
            owner: *account.owner,
            lamports: account.lamports,
            rent_epoch: account.rent_epoch,
            executable: account.executable,
            is_signed,
            data: 0..0,
            origin: None,
        };
        self.push_account(entry, account.data);
    }

    /// Adds an account, with its data; its address is not in the content yet.
    pub fn push_account(&mut self, mut account: Account, data: &[u8]) {
        let index = self.accounts.len() as u32;
        let begin = self.data.len();
        self.data.extend_from_slice(data);
        account.data = begin..self.data.len();
        self.by_pubkey.insert(account.pubkey, index);
        self.by_owner.entry(account.owner).or_default().push(index);
        self.accounts.push(account);
    }

    fn push_change(&mut self, change: &Change<'_>) {
        let Change::Transaction {
            signature,
            error,
            is_vote,
            keys,
            full,
            ..
        } = change
        else {
            return;
        };
        let Some(full) = full else {
            self.lacks_transactions = true;
            return;
        };
        let transaction = Transaction {
            signature: **signature,
            is_vote: *is_vote,
            error: error.map(Box::from),
            keys: Box::from(*keys),
            origin: None,
            full: 0..0,
            owners: OnceLock::new(),
        };
        self.push_transaction(transaction, full);
    }

    /// Adds a transaction, with its protobuf.
    pub fn push_transaction(&mut self, mut transaction: Transaction, full: &[u8]) {
        let index = self.transactions.len() as u32;
        let begin = self.data.len();
        self.data.extend_from_slice(full);
        transaction.full = begin..self.data.len();
        for key in &transaction.keys {
            let named = self.by_named.entry(*key).or_default();
            if named.last() != Some(&index) {
                named.push(index);
            }
        }
        self.transactions.push(transaction);
    }

    fn push_entry(&mut self, entry: &[u8]) {
        let begin = self.data.len();
        self.data.extend_from_slice(entry);
        self.entries.push(begin..self.data.len());
    }

    /// Counts its bytes, once it is complete, and more that are kept with it.
    pub fn count(&mut self, more: usize) {
        self.data.shrink_to_fit();
        let keys = self.transactions.iter().map(|one| one.keys.len());
        let bytes = self.data.len()
            + self.accounts.len() * ACCOUNT_BYTES
            + self.transactions.len() * TRANSACTION_BYTES
            + self.entries.len() * ENTRY_BYTES
            + keys.sum::<usize>() * KEY_BYTES
            + more;
        self.counted = AtomicUsize::new(bytes);
        self.resident.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes that it takes.
    pub fn byte_count(&self) -> usize {
        self.counted.load(Ordering::Relaxed)
    }

    pub fn find(&self, pubkey: &Pubkey) -> Option<u32> {
        self.by_pubkey.get(pubkey).copied()
    }

    pub fn of_owner(&self, owner: &Pubkey) -> &[u32] {
        self.by_owner.get(owner).map_or(&[], Vec::as_slice)
    }

    /// The transactions that name an address.
    pub fn naming(&self, key: &Pubkey) -> &[u32] {
        self.by_named.get(key).map_or(&[], Vec::as_slice)
    }

    /// The transactions that name any of these addresses, some of them more than once.
    pub fn naming_any(&self, keys: &HashSet<Pubkey>) -> Vec<u32> {
        let naming = |key| self.naming(key).iter().copied();
        keys.iter().flat_map(naming).collect()
    }

    /// The owners of the token balances of a transaction. They are looked for when the first filter
    /// asks for them.
    pub fn token_owners<'t>(&self, transaction: &'t Transaction) -> &'t TokenOwners {
        transaction.owners.get_or_init(|| {
            let owners = TokenOwners::of(self.full(transaction));
            let bytes = owners.byte_count();
            self.counted.fetch_add(bytes, Ordering::Relaxed);
            self.resident.fetch_add(bytes, Ordering::Relaxed);
            owners
        })
    }

    /// The slot and the bank of a transaction. A confirmed slot has one bank, with its number.
    pub fn place(&self, transaction: &Transaction) -> (u64, u64) {
        transaction.origin.unwrap_or((self.slot, self.slot))
    }

    /// The protobuf of a transaction.
    pub fn full(&self, transaction: &Transaction) -> &[u8] {
        &self.data[transaction.full.clone()]
    }

    pub fn data(&self, account: &Account) -> &[u8] {
        &self.data[account.data.clone()]
    }

    /// Where the slices of an account are, or its whole data if there are none. One that ends after
    /// the data is left out, as by Yellowstone.
    pub fn slices<'s>(
        &self,
        account: &Account,
        slices: &'s [Slice],
    ) -> impl Iterator<Item = Range<usize>> + use<'s> {
        let Range { start, end } = account.data;
        let whole = slices.is_empty().then_some(start..end);
        whole
            .into_iter()
            .chain(slices.iter().filter_map(move |slice| {
                let until = slice.offset.checked_add(slice.length)?;
                let is_within = until <= (end - start) as u64;
                is_within.then(|| start + slice.offset as usize..start + until as usize)
            }))
    }

    /// Where the protobuf of a transaction is.
    pub fn full_range(&self, transaction: &Transaction) -> Range<usize> {
        transaction.full.clone()
    }

    /// What these ranges are of.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.data[range]
    }
}

impl Drop for Content {
    fn drop(&mut self) {
        self.resident
            .fetch_sub(self.byte_count(), Ordering::Relaxed);
    }
}

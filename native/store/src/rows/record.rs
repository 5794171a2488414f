//! The records of the store and the updates of a feed.

use crate::history::feed_record::Location;
use primitives::Pubkey;
use sys::error::{Error, Result};

/// A stored account, borrowed without a copy from the read transaction's memory map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountRef<'a> {
    /// Slot of the last write.
    pub slot: u64,
    pub lamports: u64,
    pub rent_epoch: u64,
    pub executable: bool,
    pub owner: &'a Pubkey,
    pub data: &'a [u8],
}

/// An account at the end of a block. `lamports == 0` deletes it, regardless of the other fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountUpdate {
    pub pubkey: Pubkey,
    pub lamports: u64,
    pub rent_epoch: u64,
    pub executable: bool,
    pub owner: Pubkey,
    pub data: Vec<u8>,
    /// Whether the feed names a transaction that wrote it: the runtime writes some accounts itself.
    /// Kept with what a slot changed only.
    pub is_signed: bool,
}

impl AccountUpdate {
    /// The account after this update, written in `slot`.
    pub fn at(&self, slot: u64) -> AccountRef<'_> {
        AccountRef {
            slot,
            lamports: self.lamports,
            rent_epoch: self.rent_epoch,
            executable: self.executable,
            owner: &self.owner,
            data: &self.data,
        }
    }
}

/// The outcome of a transaction; `error` is the feed's bincode of a TransactionError, `None` means
/// success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionUpdate {
    pub signature: [u8; 64],
    /// Its position in the block.
    pub index: u32,
    pub error: Option<Vec<u8>>,
    /// Present if the feed sends more than outcomes.
    pub details: Option<TransactionDetails>,
}

/// The details of a transaction that subscriptions and fee estimates need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransactionDetails {
    pub is_vote: bool,
    /// All accounts of the transaction: static keys, then loaded ones.
    pub keys: Vec<Pubkey>,
    /// Empty if `full` has them.
    pub logs: Vec<String>,
    /// The whole transaction, if that is taken: protobuf of SubscribeUpdateTransactionInfo.
    pub full: Option<Vec<u8>>,
    pub cost: Box<TransactionCost>,
}

/// What a transaction offered, and to whom.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransactionCost {
    /// In micro-lamports per compute unit; `None` if it has no limit of compute units to divide by.
    pub price: Option<u64>,
    /// Positions in `keys` of the accounts that it locks for writing.
    pub writable: Vec<u8>,
    /// Positions in `keys` of the accounts that had more lamports after it, and how many more. None
    /// if it failed.
    pub gains: Vec<(u8, u64)>,
}

/// What the feed sends of a block beside its changes, in the feed's protobuf. Kept with what its
/// slot changed only; empty if the feed does not send it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockParts {
    /// SubscribeUpdateBlockMeta with its counts and rewards alone.
    pub meta: Vec<u8>,
    /// SubscribeUpdateBlockFooter, without its slot and bank.
    pub footer: Option<Vec<u8>>,
    /// SubscribeUpdateEntry, without slot and bank, in the order of the block.
    pub entries: Vec<Vec<u8>>,
}

/// The changes of a confirmed block. If a pubkey appears twice, the later update is used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    pub slot: u64,
    pub parent_slot: u64,
    pub blockhash: [u8; 32],
    pub parent_blockhash: [u8; 32],
    pub block_height: u64,
    /// Seconds since 1970, if the feed sends them.
    pub block_time: Option<i64>,
    pub accounts: Vec<AccountUpdate>,
    pub transactions: Vec<TransactionUpdate>,
    pub parts: BlockParts,
    /// The newest slot that the feed had reported as finalized by this block, if any.
    pub root: Option<u64>,
    /// Whether the feed sends the details of every transaction, votes perhaps left out.
    pub has_details: bool,
}

/// The newest block in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    pub slot: u64,
    pub parent_slot: u64,
    pub blockhash: [u8; 32],
    pub block_height: u64,
    pub block_time: Option<i64>,
    /// The newest finalized slot known with this block, at most the block's own slot; 0 if none.
    pub root: u64,
}

/// Bytes of a stored record before its data.
pub const HEAD_BYTES: usize = 57;
/// The offset of the owner in a stored record; scans test it first.
pub(crate) const OWNER_AT: usize = 25;
const EXECUTABLE: u8 = 1;

/// Encodes the fixed-size head of a stored record. The data follows it.
#[inline]
pub fn encode_head(account: &AccountRef<'_>) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[0..8].copy_from_slice(&account.slot.to_be_bytes());
    head[8..16].copy_from_slice(&account.lamports.to_be_bytes());
    head[16..24].copy_from_slice(&account.rent_epoch.to_be_bytes());
    head[24] = if account.executable { EXECUTABLE } else { 0 };
    head[OWNER_AT..HEAD_BYTES].copy_from_slice(account.owner);
    head
}

/// Decodes a stored record.
#[inline]
pub fn decode(record: &[u8]) -> Result<AccountRef<'_>> {
    split(record).ok_or_else(|| {
        Error::Internal(format!("an account record has only {} bytes", record.len()))
    })
}

#[inline]
fn split(record: &[u8]) -> Option<AccountRef<'_>> {
    let (head, data) = record.split_first_chunk::<HEAD_BYTES>()?;
    let (slot, rest) = head.split_first_chunk()?;
    let (lamports, rest) = rest.split_first_chunk()?;
    let (rent_epoch, rest) = rest.split_first_chunk()?;
    let (flags, owner) = rest.split_first()?;
    Some(AccountRef {
        slot: u64::from_be_bytes(*slot),
        lamports: u64::from_be_bytes(*lamports),
        rent_epoch: u64::from_be_bytes(*rent_epoch),
        executable: flags & EXECUTABLE != 0,
        owner: owner.first_chunk()?,
        data,
    })
}

/// Bytes of a row of `blocks` before the location of the slot's changes.
const BLOCK_BYTES: usize = 65;

/// The value of a row of `blocks`, without the location of the slot's changes.
pub(crate) fn encode_block(tip: &Tip) -> [u8; BLOCK_BYTES] {
    let mut value = [0; BLOCK_BYTES];
    value[0..32].copy_from_slice(&tip.blockhash);
    value[32..40].copy_from_slice(&tip.parent_slot.to_be_bytes());
    value[40..48].copy_from_slice(&tip.block_height.to_be_bytes());
    value[48] = u8::from(tip.block_time.is_some());
    value[49..57].copy_from_slice(&tip.block_time.unwrap_or(0).to_be_bytes());
    value[57..65].copy_from_slice(&tip.root.to_be_bytes());
    value
}

/// Where the changes of the block's slot are, if its row of `blocks` says so.
pub(crate) fn decode_location(value: &[u8]) -> Option<Location> {
    Location::decode(value.get(BLOCK_BYTES..)?)
}

/// Reads a row of `blocks`.
pub(crate) fn decode_block(slot: u64, value: &[u8]) -> Option<Tip> {
    let (blockhash, rest) = value.split_first_chunk()?;
    let (parent_slot, rest) = rest.split_first_chunk()?;
    let (block_height, rest) = rest.split_first_chunk()?;
    let (has_time, rest) = rest.split_first()?;
    let (time, rest) = rest.split_first_chunk()?;
    let root = rest.first_chunk()?;
    Some(Tip {
        slot,
        parent_slot: u64::from_be_bytes(*parent_slot),
        blockhash: *blockhash,
        block_height: u64::from_be_bytes(*block_height),
        block_time: (*has_time != 0).then_some(i64::from_be_bytes(*time)),
        root: u64::from_be_bytes(*root),
    })
}

//! What the store holds and what a feed gives it.

use crate::Pubkey;

/// An account as it lies in the store, borrowed from the read transaction's memory map: no copy.
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

/// One account as it is at the end of a block. `lamports == 0` deletes it, whatever the rest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountUpdate {
    pub pubkey: Pubkey,
    pub lamports: u64,
    pub rent_epoch: u64,
    pub executable: bool,
    pub owner: Pubkey,
    pub data: Vec<u8>,
}

/// One transaction's outcome; `error` is the feed's bincode of a TransactionError, `None` is success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureStatus {
    pub signature: [u8; 64],
    pub error: Option<Vec<u8>>,
}

/// One confirmed block: everything that changed in it. A pubkey may appear twice; the later one wins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    pub slot: u64,
    pub parent_slot: u64,
    pub blockhash: [u8; 32],
    pub parent_blockhash: [u8; 32],
    pub block_height: u64,
    /// Seconds since 1970, where the feed gives them.
    pub block_time: Option<i64>,
    pub accounts: Vec<AccountUpdate>,
    pub signatures: Vec<SignatureStatus>,
}

/// The newest block in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    pub slot: u64,
    pub parent_slot: u64,
    pub blockhash: [u8; 32],
    pub block_height: u64,
    pub block_time: Option<i64>,
}

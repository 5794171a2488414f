//! What the feed sends, what a block assembler returns, and why a stream cannot continue.

use std::fmt;

use super::event::Gap;
use primitives::Pubkey;
use store::{AccountUpdate, Block, TransactionUpdate};

/// Block metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockMeta {
    pub slot: u64,
    pub parent_slot: u64,
    pub blockhash: [u8; 32],
    pub parent_blockhash: [u8; 32],
    pub block_height: u64,
    pub block_time: Option<i64>,
    /// Time at which the server created the message, in ms since 1970.
    pub created_ms: Option<u64>,
}

/// Slot statuses that the assembler uses. Others are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotState {
    Confirmed,
    /// All slots up to this one are final. Not data of a slot in progress.
    Finalized,
    /// The slot restarts: data sent for it earlier is invalid.
    CreatedBank,
    Dead,
}

/// One validated feed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    Account {
        slot: u64,
        write_version: u64,
        account: AccountUpdate,
    },
    /// `index` is the transaction's position in its block.
    Transaction {
        slot: u64,
        index: u64,
        transaction: TransactionUpdate,
    },
    /// Accounts whose lamports a transaction of the slot reduced to zero.
    Closed {
        slot: u64,
        pubkeys: Vec<Pubkey>,
    },
    Meta(BlockMeta),
    Slot {
        slot: u64,
        state: SlotState,
    },
}

impl Update {
    pub fn slot(&self) -> u64 {
        match self {
            Update::Account { slot, .. }
            | Update::Transaction { slot, .. }
            | Update::Closed { slot, .. }
            | Update::Slot { slot, .. } => *slot,
            Update::Meta(meta) => meta.slot,
        }
    }
}

/// Why the stream cannot continue. A new one must be opened from the tip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    BufferFull {
        slot: u64,
        buffer_bytes_max: usize,
    },
    Gap(Gap),
    /// A message that violates the protocol. Ignoring it could lose account state.
    Malformed {
        slot: u64,
        what: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::BufferFull {
                slot,
                buffer_bytes_max,
            } => write!(
                f,
                "unfinished slots hold over {buffer_bytes_max} bytes at slot {slot} \
                 (bufferBytesMax)"
            ),
            Fault::Gap(gap) => gap.fmt(f),
            Fault::Malformed { slot, what } => {
                write!(
                    f,
                    "the feed sent a malformed message for slot {slot}: {what}"
                )
            }
        }
    }
}

/// A complete block that continues the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// Accounts are sorted by pubkey, transactions by position in the block.
    pub block: Block,
    pub created_ms: Option<u64>,
    pub bytes: usize,
}

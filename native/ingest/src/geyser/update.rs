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
    /// As in [`store::BlockParts`].
    pub kept: Vec<u8>,
    /// Time at which the server created the message, in ms since 1970.
    pub created_ms: Option<u64>,
}

/// Slot statuses that the assembler uses. Others are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotState {
    Confirmed,
    /// All slots up to this one are final. Not data of a slot in progress.
    Finalized,
    /// A bank of the slot begins. Without its number: the slot restarts, and data sent for it
    /// earlier is invalid.
    CreatedBank,
    /// The banks of the slot that are known so far failed. Another one may still be confirmed.
    Dead,
    /// The leader abandoned this bank for one with another parent.
    Abandoned,
}

/// One validated feed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    pub slot: u64,
    /// The server's number of the bank that the message belongs to. A slot may have several banks,
    /// of which the chain takes one. A counter of one validator process: not comparable between
    /// streams. `None` if the server sends none.
    pub bank: Option<u64>,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Account {
        write_version: u64,
        account: AccountUpdate,
    },
    Transaction(TransactionUpdate),
    /// As in [`store::BlockParts`], with its position in the block.
    Entry {
        index: u64,
        entry: Vec<u8>,
    },
    /// The same.
    Footer(Vec<u8>),
    /// Accounts whose lamports a transaction of the slot reduced to zero.
    Closed(Vec<Pubkey>),
    Meta(BlockMeta),
    Status(SlotState),
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
    pub origin: Origin,
    pub bytes: usize,
}

/// How the feed sent a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Origin {
    /// Time at which the server created the block's metadata, in ms since 1970.
    pub created_ms: Option<u64>,
    /// Whether the server named the block's bank.
    pub is_by_bank: bool,
    /// Messages of abandoned banks that were dropped since the block before.
    pub dropped: u64,
}

//! What the validator reports, and what the server sends.

use std::sync::Arc;
use std::time::SystemTime;

use yellowstone_grpc_proto::geyser::{
    SlotStatus, SubscribeUpdateAccountInfo, SubscribeUpdateBlockMeta,
    SubscribeUpdateTransactionInfo,
};

pub type Key = [u8; 32];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Processed,
    Confirmed,
    Finalized,
}

pub const LEVELS: [Level; 3] = [Level::Processed, Level::Confirmed, Level::Finalized];

impl Level {
    pub fn status(self) -> SlotStatus {
        match self {
            Level::Processed => SlotStatus::SlotProcessed,
            Level::Confirmed => SlotStatus::SlotConfirmed,
            Level::Finalized => SlotStatus::SlotFinalized,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Transaction {
    pub info: SubscribeUpdateTransactionInfo,
    /// Those of the message, and those loaded from lookup tables.
    pub keys: Vec<Key>,
}

/// A call of the validator. It is moved once, into a queue.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Event {
    Account {
        slot: u64,
        info: SubscribeUpdateAccountInfo,
        is_startup: bool,
    },
    Transaction {
        slot: u64,
        transaction: Transaction,
    },
    Meta(SubscribeUpdateBlockMeta),
    /// `None` is a bank that was created.
    Level {
        slot: u64,
        parent: Option<u64>,
        level: Level,
    },
    Created {
        slot: u64,
        parent: Option<u64>,
    },
    Dead {
        slot: u64,
        parent: Option<u64>,
        error: String,
    },
    /// First shred received, or completed.
    Other {
        slot: u64,
        parent: Option<u64>,
        status: SlotStatus,
    },
}

/// A block with all its content.
#[derive(Debug)]
pub struct SealedBlock {
    /// The last version of each account.
    pub accounts: Vec<Arc<SubscribeUpdateAccountInfo>>,
    /// By position in the block.
    pub transactions: Vec<Arc<Transaction>>,
    pub meta: SubscribeUpdateBlockMeta,
}

#[derive(Debug, Clone)]
pub enum Body {
    Account {
        slot: u64,
        info: Arc<SubscribeUpdateAccountInfo>,
        is_startup: bool,
    },
    Transaction {
        slot: u64,
        transaction: Arc<Transaction>,
    },
    Block(Arc<SealedBlock>),
    Meta(Arc<SealedBlock>),
    Slot {
        slot: u64,
        parent: Option<u64>,
        status: SlotStatus,
        error: Option<String>,
    },
}

/// An update for every subscription of a level, or of all.
#[derive(Debug, Clone)]
pub struct Item {
    pub level: Option<Level>,
    pub body: Body,
    pub at: SystemTime,
}

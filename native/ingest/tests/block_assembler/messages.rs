//! Messages of a synthetic chain, and a function that runs them through a block assembler.

use ingest::geyser::{
    BlockAssembler, BlockMeta, BufferLimits, Content, Fault, Ready, SlotState, Update,
};
use store::{AccountUpdate, TransactionUpdate};

pub const LIMITS: BufferLimits = BufferLimits {
    buffer_bytes_max: 1 << 20,
    reorder_blocks_max: 4,
};

pub fn hash(slot: u64) -> [u8; 32] {
    let mut hash = [7; 32];
    hash[..8].copy_from_slice(&slot.to_be_bytes());
    hash
}

/// A message of a server that sends no numbers of banks.
pub fn unnumbered(slot: u64, content: Content) -> Update {
    Update {
        slot,
        bank: None,
        content,
    }
}

pub fn block_meta(slot: u64, parent_slot: u64) -> BlockMeta {
    BlockMeta {
        slot,
        parent_slot,
        blockhash: hash(slot),
        parent_blockhash: hash(parent_slot),
        block_height: slot,
        block_time: Some(1_000 + slot as i64),
        kept: vec![slot as u8],
        created_ms: Some(slot),
    }
}

pub fn meta(slot: u64, parent_slot: u64) -> Update {
    unnumbered(slot, Content::Meta(block_meta(slot, parent_slot)))
}

pub fn account(slot: u64, key: u8, write_version: u64, data: usize) -> Update {
    let account = AccountUpdate {
        is_signed: false,
        pubkey: [key; 32],
        lamports: write_version,
        rent_epoch: u64::MAX,
        executable: false,
        owner: [9; 32],
        data: vec![key; data],
    };
    let content = Content::Account {
        write_version,
        account,
    };
    unnumbered(slot, content)
}

pub fn signature(slot: u64, index: u64) -> Update {
    let mut signature = [0; 64];
    signature[..8].copy_from_slice(&slot.to_be_bytes());
    signature[8..16].copy_from_slice(&index.to_be_bytes());
    let transaction = TransactionUpdate {
        signature,
        index: u32::try_from(index).unwrap(),
        error: None,
        details: None,
    };
    unnumbered(slot, Content::Transaction(transaction))
}

pub fn status(slot: u64, state: SlotState) -> Update {
    unnumbered(slot, Content::Status(state))
}

pub fn confirmed(slot: u64) -> Update {
    status(slot, SlotState::Confirmed)
}

/// Runs messages through a block assembler whose tip is slot 10.
pub fn run(limits: BufferLimits, updates: &[Update]) -> (Vec<Ready>, Result<(), Fault>) {
    let mut slots = BlockAssembler::new(Some((10, hash(10))), true, limits);
    let mut ready = Vec::new();
    for update in updates {
        if let Err(fault) = slots.push(update.clone(), &mut ready) {
            return (ready, Err(fault));
        }
    }
    (ready, Ok(()))
}

pub fn slots_of(ready: &[Ready]) -> Vec<u64> {
    ready.iter().map(|ready| ready.block.slot).collect()
}

//! Messages of a synthetic chain, and a function that runs them through a block assembler.

use ingest::geyser::{BlockAssembler, BlockMeta, BufferLimits, Fault, Ready, SlotState, Update};
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

pub fn meta(slot: u64, parent_slot: u64) -> Update {
    Update::Meta(BlockMeta {
        slot,
        parent_slot,
        blockhash: hash(slot),
        parent_blockhash: hash(parent_slot),
        block_height: slot,
        block_time: Some(1_000 + slot as i64),
        created_ms: Some(slot),
    })
}

pub fn account(slot: u64, key: u8, write_version: u64, data: usize) -> Update {
    let account = AccountUpdate {
        pubkey: [key; 32],
        lamports: write_version,
        rent_epoch: u64::MAX,
        executable: false,
        owner: [9; 32],
        data: vec![key; data],
    };
    Update::Account {
        slot,
        write_version,
        account,
    }
}

pub fn signature(slot: u64, index: u64) -> Update {
    let mut signature = [0; 64];
    signature[..8].copy_from_slice(&slot.to_be_bytes());
    signature[8..16].copy_from_slice(&index.to_be_bytes());
    Update::Transaction {
        slot,
        index,
        transaction: TransactionUpdate {
            signature,
            error: None,
            details: None,
        },
    }
}

pub fn status(slot: u64, state: SlotState) -> Update {
    Update::Slot { slot, state }
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

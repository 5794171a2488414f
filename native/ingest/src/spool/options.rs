//! Limits of a spool, and the link of its first block.

use store::Block;

/// Limits of a spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpoolOptions {
    /// Maximum bytes on disk. When exceeded, the spool rejects blocks with an error.
    pub bytes_max: u64,
    /// Maximum time between the oldest block on disk and the newest one, in milliseconds, by the
    /// times of their blocks. When exceeded, the spool rejects blocks with an error.
    pub ms_max: u64,
    /// Size in bytes at which a new file starts. Files whose blocks are all applied are removed.
    pub segment_bytes_max: u64,
    /// Disk space to leave free, in bytes, as for the store.
    pub disk_reserve_bytes: u64,
}

/// The first block of a spool, with the link to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    pub slot: u64,
    pub parent_slot: u64,
    pub parent_blockhash: [u8; 32],
    pub block_height: u64,
}

impl Link {
    pub(super) fn of(block: &Block) -> Link {
        Link {
            slot: block.slot,
            parent_slot: block.parent_slot,
            parent_blockhash: block.parent_blockhash,
            block_height: block.block_height,
        }
    }
}

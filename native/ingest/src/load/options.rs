//! Bounds of a load.

use std::time::Duration;

/// Minimum sort memory. With less, there are too many short runs.
pub const SORT_MEMORY_BYTES_MIN: usize = 8 << 20;

/// Resource limits of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadOptions {
    /// Bytes sorted in memory at a time; the rest is written to disk in sorted runs. A load uses
    /// about this much memory plus the size of the largest account.
    pub sort_memory_bytes: usize,
    /// Bytes of rows per transaction of the new store, which are in memory until the commit.
    pub transaction_bytes: usize,
    /// The load fails if the disk of its runs has less than this free.
    pub disk_reserve_bytes: u64,
    /// Time between two checkpoints of an archive, from which another process can continue the
    /// load. `None` writes no checkpoint and continues none.
    pub checkpoint_every: Option<Duration>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            sort_memory_bytes: 1 << 30,
            transaction_bytes: 32 << 20,
            disk_reserve_bytes: 1 << 30,
            checkpoint_every: None,
        }
    }
}

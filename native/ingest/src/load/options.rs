//! Bounds of a load.

/// The least memory that a load sorts in: below, runs become too many and too short.
pub const SORT_MEMORY_BYTES_MIN: usize = 8 << 20;

/// How much a load may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadOptions {
    /// Bytes that are sorted in memory at a time; what is more goes to the disk in sorted runs. A
    /// load takes about this much memory, and the largest account on top.
    pub sort_memory_bytes: usize,
    /// Rows of one transaction of the new store: what it holds in memory before it is written.
    pub transaction_bytes: usize,
    /// The load ends while the disk of its runs has less than this free.
    pub disk_reserve_bytes: u64,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            sort_memory_bytes: 1 << 30,
            transaction_bytes: 32 << 20,
            disk_reserve_bytes: 1 << 30,
        }
    }
}

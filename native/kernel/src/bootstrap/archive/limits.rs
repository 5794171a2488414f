//! What a sound archive stays under. An archive comes from a stranger: each bound ends the reading.

use crate::store::ACCOUNT_DATA_BYTES_MAX;

/// Bounds of one archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Data of one account: the chain's own limit.
    pub account_data_bytes_max: usize,
    /// One AppendVec file: validators refuse to make larger ones.
    pub storage_bytes_max: u64,
    /// Members of the tar: validators refuse to unpack more.
    pub members_max: u64,
    /// All of the tar: mainnet had about 0.4 TB in 2026.
    pub unpacked_bytes_max: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        ArchiveLimits {
            account_data_bytes_max: ACCOUNT_DATA_BYTES_MAX,
            storage_bytes_max: 16 << 30,
            members_max: 5_000_000,
            unpacked_bytes_max: 64 << 40,
        }
    }
}

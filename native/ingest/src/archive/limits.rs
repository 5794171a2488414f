//! What a sound archive stays under. An archive comes from a stranger: each bound ends the reading.

use store::ACCOUNT_DATA_BYTES_MAX;
use sys::error::{Error, Result};

/// Bounds of one archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Data of one account: the chain's own limit, and what a store takes.
    pub account_data_bytes_max: usize,
    /// One AppendVec file: validators refuse to make larger ones.
    pub storage_bytes_max: u64,
    /// Members of the tar: validators refuse to unpack more.
    pub members_max: u64,
    /// All of the tar, with the holes of sparse files: mainnet had about 0.4 TB in 2026.
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

impl ArchiveLimits {
    pub(super) fn check_members(&self, count: u64) -> Result<()> {
        if count <= self.members_max {
            return Ok(());
        }
        let has = format!("it has more than {} members", self.members_max);
        Err(over(&has, "membersMax"))
    }

    /// `what` names the file.
    pub(super) fn check_storage(&self, what: &str, bytes: u64) -> Result<()> {
        if bytes <= self.storage_bytes_max {
            return Ok(());
        }
        let max = self.storage_bytes_max;
        let has = format!("{what} claims {bytes} bytes, more than {max}");
        Err(over(&has, "storageBytesMax"))
    }

    /// So many bytes behind those that are passed.
    pub(super) fn check_unpacked(&self, passed: u64, bytes: u64) -> Result<()> {
        if passed.saturating_add(bytes) <= self.unpacked_bytes_max {
            return Ok(());
        }
        let max = self.unpacked_bytes_max;
        let has = format!("it unpacks to more than {max} bytes");
        Err(over(&has, "unpackedBytesMax"))
    }
}

/// Whoever knows the archive to be sound hears which option lets it in.
fn over(has: &str, option: &str) -> Error {
    Error::SnapshotInvalid(format!(
        "{has}; if it is sound, raise bootstrap.archive.{option}"
    ))
}

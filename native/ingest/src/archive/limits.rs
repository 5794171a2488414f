//! Limits of archives. An archive is untrusted input, so exceeding a limit ends the reading.

use store::ACCOUNT_DATA_BYTES_MAX;
use sys::error::{Error, Result};

/// Limits of one archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Data of one account: the limit of the chain and of the store.
    pub account_data_bytes_max: usize,
    /// One AppendVec file. Validators do not make larger ones.
    pub storage_bytes_max: u64,
    /// Members of the tar. Validators do not unpack more.
    pub members_max: u64,
    /// Size of the tar plus the holes of sparse files. Mainnet had about 0.4 TB in 2026.
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

    /// Checks that `bytes` more bytes after the `passed` ones are within the limit.
    pub(super) fn check_unpacked(&self, passed: u64, bytes: u64) -> Result<()> {
        if passed.saturating_add(bytes) <= self.unpacked_bytes_max {
            return Ok(());
        }
        let max = self.unpacked_bytes_max;
        let has = format!("it unpacks to more than {max} bytes");
        Err(over(&has, "unpackedBytesMax"))
    }
}

/// The error names the option that raises the limit, for an archive known to be valid.
fn over(has: &str, option: &str) -> Error {
    Error::SnapshotInvalid(format!(
        "{has}; if it is sound, raise bootstrap.archive.{option}"
    ))
}

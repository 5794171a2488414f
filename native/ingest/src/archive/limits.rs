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
        // An archive known to be valid may have more: the error names the option.
        let max = self.members_max;
        Err(Error::SnapshotInvalid(format!(
            "it has more than {max} members; if it is sound, raise bootstrap.archive.membersMax"
        )))
    }

    /// `what` names the file.
    pub(super) fn check_storage(&self, what: &str, bytes: u64) -> Result<()> {
        if bytes <= self.storage_bytes_max {
            return Ok(());
        }
        let max = self.storage_bytes_max;
        Err(Error::SnapshotInvalid(format!(
            "{what} claims {bytes} bytes, more than {max}"
        )))
    }

    /// Checks that `bytes` more bytes after the `passed` ones are within the limit.
    pub(super) fn check_unpacked(&self, passed: u64, bytes: u64) -> Result<()> {
        if passed.saturating_add(bytes) <= self.unpacked_bytes_max {
            return Ok(());
        }
        let max = self.unpacked_bytes_max;
        Err(Error::SnapshotInvalid(format!(
            "it unpacks to more than {max} bytes"
        )))
    }
}

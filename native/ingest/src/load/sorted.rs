//! What a load was given, in sorted runs, and what it makes of it.

use std::path::PathBuf;

use super::options::LoadOptions;
use super::scope_filter::ScopeFilter;
use super::spill::{Span, SpillFile};
use serde::{Deserialize, Serialize};
use store::{AccountRef, Tip};
use sys::error::{Error, Result};

/// The tip of the loaded store.
pub type Base = Tip;

/// Counters of pushed versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Versions of accounts, including those outside the scope.
    pub versions: u64,
    /// Versions that would be kept if each were the newest of its account.
    pub kept: u64,
    /// Closed accounts.
    pub tombstones: u64,
    /// Versions outside the scope.
    pub out_of_scope: u64,
    /// Bytes of the sorted runs.
    pub run_bytes: u64,
}

/// The size of a loaded store, or an estimate of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    pub accounts: u64,
    pub lamports: u128,
    /// Bytes of account data.
    pub data_bytes: u64,
    /// Versions replaced by newer ones.
    pub superseded: u64,
    /// Bytes of the store's file; for an estimate, an upper bound.
    pub file_bytes: u64,
    /// Bytes of the sorted runs on disk, including indexes.
    pub run_bytes: u64,
}

impl Loaded {
    /// Adds one account of the store to the sums.
    pub(super) fn count(&mut self, account: &AccountRef<'_>) {
        self.accounts += 1;
        self.lamports += u128::from(account.lamports);
        self.data_bytes += account.data.len() as u64;
    }
}

/// All pushed versions in sorted runs.
pub(super) struct Sorted {
    pub work_dir: PathBuf,
    pub options: LoadOptions,
    pub filter: ScopeFilter,
    pub counts: Counts,
    pub file: SpillFile,
    pub spans: Vec<Span>,
    /// Set only if every account is kept.
    pub capitalization: Option<u64>,
}

impl Sorted {
    /// Checks that the lamports of all accounts equal the capitalization. Another sum means missing
    /// or extra accounts.
    pub fn check_lamports(&self, loaded: &Loaded) -> Result<()> {
        match self.capitalization {
            Some(said) if u128::from(said) != loaded.lamports => {
                Err(Error::SnapshotInvalid(format!(
                    "its accounts hold {} lamports together, and its bank says {said}",
                    loaded.lamports
                )))
            }
            _ => Ok(()),
        }
    }
}

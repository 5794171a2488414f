//! Progress of a bootstrap, readable from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sys::error::{Error, Result};

/// Counters of one bootstrap. They only grow; `cancel` makes the work end with
/// [`Error::Cancelled`].
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of archives as they came, compressed.
    pub bytes_read: AtomicU64,
    /// Entries of archives, tombstones included.
    pub entries: AtomicU64,
    /// Rows that are to be merged into the store, those of indexes included. It grows until the
    /// accounts are written.
    pub rows_total: AtomicU64,
    /// Rows merged so far.
    pub rows_merged: AtomicU64,
    is_cancelled: AtomicBool,
}

impl Progress {
    /// Asks the work to end. It does so within a second.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Bytes read, entries, rows in all and rows merged.
    pub fn read(&self) -> [u64; 4] {
        [
            &self.bytes_read,
            &self.entries,
            &self.rows_total,
            &self.rows_merged,
        ]
        .map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Fails once the work was asked to end.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::Cancelled);
        }
        Ok(())
    }
}

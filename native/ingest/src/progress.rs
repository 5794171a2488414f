//! Progress of a bootstrap, readable from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sys::error::{Error, Result};

/// Counters of one bootstrap. They only increase. `cancel` makes the work fail with
/// [`Error::Cancelled`].
#[derive(Debug, Default)]
pub struct Progress {
    /// Compressed bytes of archives received.
    pub bytes_read: AtomicU64,
    /// Archive entries, including tombstones.
    pub entries: AtomicU64,
    /// Rows to merge into the store, including index rows. Increases until the accounts are
    /// written.
    pub rows_total: AtomicU64,
    /// Rows merged so far.
    pub rows_merged: AtomicU64,
    is_cancelled: AtomicBool,
}

impl Progress {
    /// Requests cancellation. The work ends within a second.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Returns bytes read, entries, total rows and merged rows.
    pub fn read(&self) -> [u64; 4] {
        [
            &self.bytes_read,
            &self.entries,
            &self.rows_total,
            &self.rows_merged,
        ]
        .map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Fails after cancellation was requested.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::Cancelled);
        }
        Ok(())
    }
}

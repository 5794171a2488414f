//! What a bootstrap in progress has done so far, for whoever watches it from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Counters of one bootstrap. They only grow; `cancel` makes the work end with [`Error::Cancelled`].
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of archives as they came, compressed.
    pub bytes_read: AtomicU64,
    /// Entries of archives, tombstones included.
    pub entries: AtomicU64,
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

    /// Fails once the work was asked to end.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::Cancelled);
        }
        Ok(())
    }
}

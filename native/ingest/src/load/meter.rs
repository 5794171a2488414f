//! Counts rows.

use std::sync::atomic::Ordering;

use crate::progress::Progress;
use sys::error::Result;

/// Records between two checks for cancellation.
const CHECK_EVERY: u64 = 4096;

/// Counts rows for progress reports, and stops the work after cancellation.
pub(super) struct Meter<'p> {
    progress: &'p Progress,
    rows: u64,
}

impl<'p> Meter<'p> {
    pub fn new(progress: &'p Progress) -> Self {
        Meter { progress, rows: 0 }
    }

    #[inline]
    pub fn row(&mut self) -> Result<()> {
        self.rows += 1;
        if self.rows < CHECK_EVERY {
            return Ok(());
        }
        self.flush();
        self.progress.check()
    }

    fn flush(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.progress.rows_merged.fetch_add(rows, Ordering::Relaxed);
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}

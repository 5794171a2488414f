//! The sink: stores blocks on disk, or forwards them to a store.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::files::Files;
use super::options::{Link, SpoolOptions};
use crate::geyser::BlockSink;
use store::{Block, Store, Tip};
use sys::error::{Error, Result};

/// Statistics of a spool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpoolStats {
    /// The oldest block since the spool was opened or created, even if its file is already removed.
    pub first: Option<Link>,
    pub last_slot: Option<u64>,
    /// Newest block in the store, from the replay or from the feed after it.
    pub applied_slot: Option<u64>,
    pub blocks: u64,
    pub bytes: u64,
    /// Error of the last rejected block. Cleared when a block is accepted.
    pub failure: Option<String>,
}

pub(super) enum Phase {
    Spooling(Box<Files>),
    Live(Arc<Store>),
}

/// A sink that stores blocks on disk and later forwards them to a store.
pub struct Spool {
    pub(super) dir: PathBuf,
    phase: Mutex<Phase>,
    /// Separate from `phase`, whose lock lasts for a whole commit.
    stats: Mutex<SpoolStats>,
    /// Wakes the replay.
    pub(super) grown: Condvar,
}

impl Spool {
    /// Opens a spool with the complete blocks of an earlier process, or creates one. Only one
    /// process may use it.
    pub fn open(dir: &Path, options: SpoolOptions) -> Result<Spool> {
        let files = Files::open(dir, options)?;
        let spool = Spool {
            dir: dir.to_path_buf(),
            stats: Mutex::new(SpoolStats::default()),
            grown: Condvar::new(),
            phase: Mutex::new(Phase::Spooling(Box::new(files))),
        };
        if let Phase::Spooling(files) = &*spool.lock() {
            spool.note(files);
        }
        Ok(spool)
    }

    pub fn stats(&self) -> SpoolStats {
        self.lock_stats().clone()
    }

    fn note(&self, files: &Files) {
        let mut stats = self.lock_stats();
        stats.first = files.first();
        stats.last_slot = files.last().map(|last| last.slot);
        stats.blocks = files.blocks();
        stats.bytes = files.bytes();
    }

    /// Values behind a poisoned lock are complete, so the poison is ignored.
    pub(super) fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_stats(&self) -> MutexGuard<'_, SpoolStats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, files: &mut Files, blocks: &[Block]) -> Result<()> {
        let outcome = files.append(blocks);
        self.note(files);
        self.lock_stats().failure = outcome.as_ref().err().map(Error::to_string);
        self.grown.notify_all();
        outcome
    }
}

impl BlockSink for Spool {
    fn tip(&self) -> Result<Option<Tip>> {
        match &*self.lock() {
            Phase::Spooling(files) => Ok(files.last()),
            Phase::Live(store) => store.tip(),
        }
    }

    fn apply(&self, blocks: &[Block]) -> Result<()> {
        match &mut *self.lock() {
            Phase::Spooling(files) => self.append(files, blocks),
            Phase::Live(store) => {
                store.apply_all(blocks)?;
                self.lock_stats().applied_slot = blocks.last().map(|block| block.slot);
                Ok(())
            }
        }
    }

    fn tidy(&self, deadline: Instant) -> Result<bool> {
        let store = match &*self.lock() {
            Phase::Spooling(_) => return Ok(false),
            Phase::Live(store) => Arc::clone(store),
        };
        store.tidy(deadline)
    }
}

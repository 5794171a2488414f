//! Stores blocks of a feed on disk until a store can apply them.
//!
//! A store loaded from a snapshot is hours behind the chain, longer than any feed can replay. The
//! feed is therefore read into a spool first, then the store is loaded, then the spool is replayed
//! into the store. After that the feed's blocks go directly to the store. No block is lost or
//! duplicated, and the subscription continues throughout.

mod codec;
mod files;
mod record;
mod replay;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

pub use replay::{ReplayLimits, Replayed, Replaying};

use self::files::Files;
use crate::geyser::BlockSink;
use store::{Block, Store, Tip};
use sys::error::{Error, Result};

/// Limits of a spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpoolOptions {
    /// Maximum bytes on disk. When exceeded, the spool rejects blocks with an error.
    pub bytes_max: u64,
    /// Size in bytes at which a new file starts. Files whose blocks are all applied are removed.
    pub segment_bytes_max: u64,
    /// Disk space to leave free, in bytes, as for the store.
    pub disk_reserve_bytes: u64,
}

/// The first block of a spool, with the link to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    pub slot: u64,
    pub parent_slot: u64,
    pub parent_blockhash: [u8; 32],
    pub block_height: u64,
}

impl Link {
    fn of(block: &Block) -> Link {
        Link {
            slot: block.slot,
            parent_slot: block.parent_slot,
            parent_blockhash: block.parent_blockhash,
            block_height: block.block_height,
        }
    }
}

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

enum Phase {
    Spooling(Box<Files>),
    Live(Arc<Store>),
}

/// A sink that stores blocks on disk and later forwards them to a store.
pub struct Spool {
    dir: PathBuf,
    phase: Mutex<Phase>,
    /// Separate from `phase`, whose lock lasts for a whole commit.
    stats: Mutex<SpoolStats>,
    /// Wakes the replay.
    grown: Condvar,
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
    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_stats(&self) -> MutexGuard<'_, SpoolStats> {
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
}

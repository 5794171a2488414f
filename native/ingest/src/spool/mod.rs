//! Blocks of a feed on disk, until there is a store that they continue.
//!
//! A store that is made from a snapshot is hours behind the chain when it is there, and no feed
//! keeps so much. So the feed is read first, into a spool; the store is loaded; the spool is
//! replayed over it; and what the feed brings from then on goes into the store, without a block
//! lost or duplicated, while the subscription continues.

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

/// Bounds of a spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpoolOptions {
    /// Bytes on disk. Over them the spool takes no further block, and says so.
    pub bytes_max: u64,
    /// Bytes after which another file is begun. Files whose blocks are all applied are removed.
    pub segment_bytes_max: u64,
    /// As the store's: what must stay free.
    pub disk_reserve_bytes: u64,
}

/// The first block of a spool, as what must come before it sees it.
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

/// The state of a spool in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpoolStats {
    /// The oldest block since the spool was opened or made, also where its file is gone by now.
    pub first: Option<Link>,
    pub last_slot: Option<u64>,
    /// Newest block that is in the store; of the replay, and of the feed after it.
    pub applied_slot: Option<u64>,
    pub blocks: u64,
    pub bytes: u64,
    /// Why it took no further block, until it takes one.
    pub failure: Option<String>,
}

enum Phase {
    Spooling(Box<Files>),
    Live(Arc<Store>),
}

/// A sink that keeps blocks on disk, and hands over to a store.
pub struct Spool {
    dir: PathBuf,
    phase: Mutex<Phase>,
    /// Apart from `phase`, which is held for as long as a commit takes.
    stats: Mutex<SpoolStats>,
    /// Wakes the replay.
    grown: Condvar,
}

impl Spool {
    /// Opens a spool, with what a killed process left of it, or makes one. One process at a time.
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

    /// A panic elsewhere while a lock was held leaves whole values behind.
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

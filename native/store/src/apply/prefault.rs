//! Reads the pages that a commit needs before its write transaction, many at once. A writer that
//! finds them on the disk waits for one after the other, whatever the disk could do.

use std::hint::black_box;
use std::iter::{Skip, StepBy};
use std::sync::atomic::Ordering;
use std::{slice, thread};

use crate::indexes::delta::IndexDelta;
use crate::rows::keys::Indexed;
use crate::rows::record::{AccountUpdate, Block, decode};
use crate::store::Store;
use sys::error::Result;
use sys::process;

/// Reads that wait for the disk at once: what fast disks need to be busy.
const THREADS: usize = 32;
/// A commit with fewer page faults than this has what it needs in memory.
pub(crate) const FAULTS_MIN: u64 = 32;
const STACK_BYTES: usize = 128 * 1024;

/// Those of the items that one thread looks at.
pub(crate) type Part<'i, T> = StepBy<Skip<slice::Iter<'i, T>>>;

/// Looks at items on many threads, and returns how many pages they had to wait for. A failed read
/// is that of the writer that follows, which reports it.
pub(crate) fn at_once<'i, T: Sync>(
    items: &'i [T],
    look: impl Fn(Part<'i, T>) -> Result<()> + Sync,
) -> u64 {
    let look = &look;
    thread::scope(|scope| {
        let looking: Vec<_> = (0..THREADS.min(items.len()))
            .filter_map(|nth| {
                let part = items.iter().skip(nth).step_by(THREADS);
                let look = move || {
                    let _ = look(part);
                    process::major_faults_of_thread()
                };
                let thread = thread::Builder::new()
                    .name("prefault".into())
                    .stack_size(STACK_BYTES);
                thread.spawn_scoped(scope, look).ok()
            })
            .collect();
        let faults = looking.into_iter().filter_map(|thread| thread.join().ok());
        faults.sum()
    })
}

impl Store {
    /// Runs a commit, and counts its page faults.
    pub(super) fn watch_faults<T>(&self, commit: impl FnOnce() -> T) -> T {
        let before = process::major_faults_of_thread();
        let result = commit();
        if process::major_faults_of_thread().saturating_sub(before) >= FAULTS_MIN {
            self.is_cold.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Touches the rows that blocks change, if the last commits had to wait for the disk. What
    /// cannot be touched is read by the commit itself.
    pub(super) fn prefault(&self, blocks: &[Block]) {
        if !self.is_cold.load(Ordering::Relaxed) {
            return;
        }
        let updates: Vec<(u64, &AccountUpdate)> = blocks
            .iter()
            .flat_map(|block| block.accounts.iter().map(|update| (block.slot, update)))
            .collect();
        if at_once(&updates, |part| self.touch(part)) < FAULTS_MIN {
            self.is_cold.store(false, Ordering::Relaxed);
        }
    }

    fn touch(&self, updates: Part<'_, (u64, &AccountUpdate)>) -> Result<()> {
        let txn = self.env.read_txn()?;
        for (slot, update) in updates {
            let old = match self.tables.accounts.get(&txn, &update.pubkey)? {
                Some(found) => Some(Indexed::of(&decode(found)?)),
                None => None,
            };
            let new = (update.lamports > 0).then(|| Indexed::of(&update.at(*slot)));
            let mut delta = IndexDelta::new(&self.options.changed);
            delta.push(&update.pubkey, old.as_ref(), new.as_ref());
            black_box(delta.touch(&self.tables, &txn)?);
        }
        Ok(())
    }
}

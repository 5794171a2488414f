//! Processor prefetch hints. A look-up descends a tree page by page, and in a store larger than the
//! caches it waits for memory at each page; consecutive look-ups add up these waits. Before several
//! look-ups, their keys are walked down together, so that their memory loads overlap. The hints do
//! not affect results: LMDB still finds each record, so a wrong hint costs only time.

mod mapped;
mod prefetched_keys;
mod walk;

pub(super) use mapped::Mapped;
pub(super) use walk::Tree;

use std::borrow::Borrow;

use super::snapshot::Snapshot;
use primitives::Pubkey;

/// Keys that one walk takes; callers with more keys split them into groups of this size.
pub const PREFETCH_KEYS: usize = walk::KEYS_AT_ONCE;
/// A single key has no other load to overlap with: its walk would add a fifth to the read.
const KEYS_MIN: usize = 2;
/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// The table whose records are prefetched.
pub(super) const TABLE: &str = "accounts";

impl Snapshot<'_> {
    /// Prefetches these accounts, at most [`PREFETCH_KEYS`], and the tree pages above them: the
    /// next [`Snapshot::account`] of each finds them in the processor's caches.
    pub fn prefetch<K: Borrow<Pubkey>>(&self, pubkeys: &[K]) {
        if pubkeys.len() < KEYS_MIN {
            return;
        }
        let Some(mapped) = &self.store.mapped else {
            return;
        };
        let tree = self
            .accounts_tree
            .get_or_init(|| mapped.tree(&self.txn, TABLE));
        let Some(tree) = *tree else {
            return;
        };
        let pages = mapped.pages(&self.txn, self.store.env.info().last_page_number);
        let _found = walk::walk(&pages, tree, pubkeys);
        #[cfg(any(test, feature = "testing"))]
        crate::testing::prefetch_count::count(&_found);
    }
}

/// Prefetches the cache line at `at`; reads nothing.
#[inline]
pub(super) fn prefetch(value: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if at < value.len() {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is valid for any address and has no effect visible to the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(value.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, at);
}

/// Prefetches the cache lines of `bytes` bytes from `at` on.
#[inline]
fn prefetch_run(value: &[u8], at: usize, bytes: usize) {
    let end = at.saturating_add(bytes).min(value.len());
    for line in (at..end).step_by(LINE_BYTES) {
        prefetch(value, line);
    }
    prefetch(value, end.saturating_sub(1));
}

#[cfg(test)]
mod tests;

//! Hints to the processor. A look-up goes down a tree page by page, and in a store that no cache
//! holds it waits for memory at each; look-ups one after the other wait one after the other. Before
//! several of them their keys go down together, and the memory of all comes at the same time.
//! Nothing is decided here: each record is still found by LMDB, so that a wrong hint could cost
//! time and nothing else.

mod mapped;
mod prefetched_keys;
mod walk;

pub(super) use mapped::Mapped;
pub(super) use walk::Tree;

use std::borrow::Borrow;

use super::snapshot::Snapshot;
use primitives::Pubkey;

/// Keys that one walk takes together; a caller with more takes them in such
/// groups.
pub const PREFETCH_KEYS: usize = walk::KEYS_AT_ONCE;
/// A key alone has nothing to wait beside: the walk would cost a fifth of the read.
const KEYS_MIN: usize = 2;
/// What a processor fetches at once.
const LINE_BYTES: usize = 64;

/// The table whose records are prefetched.
pub(super) const TABLE: &str = "accounts";

impl Snapshot<'_> {
    /// Asks for the memory of these accounts, at most [`PREFETCH_KEYS`], and of the way to them:
    /// the next [`Snapshot::account`] of each finds it in the processor's caches.
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

/// Asks for the line of memory at `at`, which is only a hint: nothing is read here.
#[inline]
pub(super) fn prefetch(value: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if at < value.len() {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint for any address and reads nothing that a program sees.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(value.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, at);
}

/// Asks for the lines of `bytes` from `at` on.
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

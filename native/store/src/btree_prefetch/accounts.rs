//! Prefetches the records of several accounts.

use std::borrow::Borrow;

use super::mapped::ACCOUNTS_TABLE;
use super::walk;
use crate::snapshot::Snapshot;
use primitives::Pubkey;

/// Keys that one walk takes; callers with more keys split them into groups of this size.
pub const PREFETCH_KEYS: usize = walk::KEYS_AT_ONCE;
/// A single key has no other load to overlap with: its walk would add a fifth to the read.
const KEYS_MIN: usize = 2;

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
            .get_or_init(|| mapped.tree(&self.txn, ACCOUNTS_TABLE));
        let Some(tree) = *tree else {
            return;
        };
        let pages = mapped.pages(&self.txn, self.store.env.info().last_page_number);
        let _found = walk::walk(&pages, tree, pubkeys);
        #[cfg(any(test, feature = "testing"))]
        crate::testing::prefetch_count::count(&_found);
    }
}

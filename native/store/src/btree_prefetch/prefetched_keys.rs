//! An iterator over index keys whose records are read one after the other: it prefetches the
//! records of upcoming keys.

use super::accounts::PREFETCH_KEYS;
use crate::snapshot::Snapshot;
use primitives::Pubkey;
use sys::error::{Error, Result};

/// Yields the keys of `keys` unchanged. An error is yielded at its original position.
pub struct PrefetchedKeys<'t, 's, I> {
    snapshot: &'t Snapshot<'s>,
    keys: I,
    /// The number of keys needed if every record belongs on the page: no more keys are read until
    /// these were yielded.
    wanted: usize,
    group: [&'t Pubkey; PREFETCH_KEYS],
    next: usize,
    count: usize,
    failed: Option<Error>,
}

impl<'s> Snapshot<'s> {
    /// Yields the same keys, with their records prefetched, for a page of `limit` rows.
    pub(crate) fn prefetched_keys<'t, I>(
        &'t self,
        keys: I,
        limit: usize,
    ) -> PrefetchedKeys<'t, 's, I>
    where
        I: Iterator<Item = heed::Result<&'t Pubkey>>,
    {
        PrefetchedKeys {
            snapshot: self,
            keys,
            wanted: limit,
            group: [&[0; 32]; PREFETCH_KEYS],
            next: 0,
            count: 0,
            failed: None,
        }
    }
}

impl<'t, I: Iterator<Item = heed::Result<&'t Pubkey>>> PrefetchedKeys<'t, '_, I> {
    fn take_group(&mut self) {
        let mut size = self.wanted.min(PREFETCH_KEYS);
        if size == 0 {
            size = PREFETCH_KEYS;
        }
        self.wanted = self.wanted.saturating_sub(size);
        (self.next, self.count) = (0, 0);
        for slot in self.group.iter_mut().take(size) {
            match self.keys.next() {
                Some(Ok(key)) => *slot = key,
                Some(Err(error)) => {
                    self.failed = Some(error.into());
                    break;
                }
                None => break,
            }
            self.count += 1;
        }
        let group = self.group.get(..self.count).unwrap_or_default();
        self.snapshot.prefetch(group);
    }
}

impl<'t, I: Iterator<Item = heed::Result<&'t Pubkey>>> Iterator for PrefetchedKeys<'t, '_, I> {
    type Item = Result<&'t Pubkey>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.count && self.failed.is_none() {
            self.take_group();
        }
        if self.next == self.count {
            return self.failed.take().map(Err);
        }
        let key = self.group.get(self.next).copied()?;
        self.next += 1;
        Some(Ok(key))
    }
}

//! A cache of results. Clients often repeat reads of the same few accounts, and a result is valid
//! until the next commit.

use super::request::Read;
use crate::account_json::{Encoding, View};
use primitives::Pubkey;

/// Longer results are not cached: copying them costs as much as reading.
const RESULT_BYTES_MAX: usize = 2048;
/// 2^64 divided by the golden ratio: spreads keys that differ in few bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Method, encoding or commitment, presence of a slice, its offset and length, address.
const KEY_BYTES: usize = 51;

/// A read without the id of its call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key([u8; KEY_BYTES]);

impl Key {
    /// `None` for reads whose results are not cached.
    pub fn of(read: &Read<'_>) -> Option<Key> {
        let base64 = View {
            encoding: Encoding::Base64,
            slice: None,
        };
        let (pubkey, view): (&Pubkey, &View) = match read {
            // Whether it is answered depends on the slot, too.
            Read::LatestBlockhash(_, min_slot) if *min_slot > 0 => return None,
            Read::LatestBlockhash(commitment, _) => {
                let mut key = [0; KEY_BYTES];
                [key[0], key[1]] = [read.method() as u8, *commitment as u8];
                return Some(Key(key));
            }
            // Clients name another slot each time.
            Read::AccountInfo(_, wanted) if wanted.changed_since.is_some() => return None,
            Read::TokenAccountBalance(_, Some(_)) | Read::TokenSupply(_, Some(_)) => return None,
            Read::AccountInfo(pubkey, wanted) => (pubkey, &wanted.view),
            Read::TokenAccountBalance(pubkey, None)
            | Read::TokenSupply(pubkey, None)
            | Read::TokenLargestAccounts(pubkey) => (pubkey, &base64),
            // It is long and rarely repeated.
            Read::MultipleAccounts(..) => return None,
        };
        let (offset, length) = view
            .slice
            .map_or((0, 0), |slice| (slice.offset, slice.length));
        let mut key = [0; KEY_BYTES];
        let (head, address) = key.split_at_mut(KEY_BYTES - 32);
        let (kind, numbers) = head.split_at_mut(3);
        kind.copy_from_slice(&[
            read.method() as u8,
            view.encoding as u8,
            u8::from(view.slice.is_some()),
        ]);
        let (first, second) = numbers.split_at_mut(8);
        first.copy_from_slice(&offset.to_le_bytes());
        second.copy_from_slice(&length.to_le_bytes());
        address.copy_from_slice(pubkey);
        Some(Key(key))
    }

    /// A hash that distributes keys evenly over slots.
    fn spread(&self) -> usize {
        let [kind, encoding, ..] = self.0;
        let address = self
            .0
            .last_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let mixed = (address ^ (u64::from(kind) << 8) ^ u64::from(encoding)).wrapping_mul(SPREAD);
        (mixed >> 32) as usize
    }
}

struct CachedResult {
    key: Key,
    /// Id of the last commit in the result's snapshot.
    commit: usize,
    result: Vec<u8>,
}

/// The cached results of one reader. The cache is direct-mapped: each key has one slot, and a new
/// result replaces the old one there. So a key can evict at most one other.
pub struct Recent {
    slots: Vec<Option<CachedResult>>,
}

impl Recent {
    /// Caches at most `results_max` results, each of at most 2 KiB; 0 disables the cache.
    pub fn new(results_max: usize) -> Recent {
        let mut slots = Vec::new();
        slots.resize_with(results_max, || None);
        Recent { slots }
    }

    fn slot_of(&self, key: &Key) -> usize {
        key.spread() % self.slots.len().max(1)
    }

    /// The result, if it is of the store's last commit.
    pub(super) fn get(&self, key: &Key, last_commit: usize) -> Option<&[u8]> {
        let cached = self.slots.get(self.slot_of(key))?.as_ref()?;
        (cached.commit == last_commit && cached.key == *key).then_some(&cached.result)
    }

    /// Caches a result of the snapshot with this last commit.
    pub(super) fn put(&mut self, key: Key, commit: usize, result: &[u8]) {
        if result.len() > RESULT_BYTES_MAX {
            return;
        }
        let slot = self.slot_of(&key);
        let Some(slot) = self.slots.get_mut(slot) else {
            return;
        };
        let cached = slot.get_or_insert_with(|| CachedResult {
            key,
            commit,
            result: Vec::new(),
        });
        (cached.key, cached.commit) = (key, commit);
        cached.result.clear();
        cached.result.extend_from_slice(result);
    }
}

//! Results that were just written. Clients ask for the same few accounts again and again, and until
//! the next commit the answer is the same.

use super::request::Read;
use crate::account_json::{Encoding, View};
use primitives::Pubkey;

/// Longer results are made anew each time: copying them costs as much as reading.
const RESULT_BYTES_MAX: usize = 2048;
/// 2^64 divided by the golden ratio: spreads keys that differ in few bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Method, encoding, whether there is a slice, its offset and length, address.
const KEY_BYTES: usize = 51;

/// What was asked for, without the id of the call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key([u8; KEY_BYTES]);

impl Key {
    /// `None` for reads of which no result is kept.
    pub fn of(read: &Read<'_>) -> Option<Key> {
        let base64 = View {
            encoding: Encoding::Base64,
            slice: None,
        };
        let (pubkey, view): (&Pubkey, &View) = match read {
            Read::AccountInfo(pubkey, view) => (pubkey, view),
            Read::TokenAccountBalance(pubkey)
            | Read::TokenSupply(pubkey)
            | Read::TokenLargestAccounts(pubkey) => (pubkey, &base64),
            // The first is no search, the second is long and seldom asked for twice.
            Read::LatestBlockhash | Read::MultipleAccounts(..) => return None,
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

    /// A number that spreads keys evenly over places.
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

struct Kept {
    key: Key,
    /// Id of the last commit that the result's snapshot saw.
    commit: usize,
    result: Vec<u8>,
}

/// The kept results of one reader. Each key has one place, and whoever comes last has it: no key
/// can push out more than one other, whatever clients ask for.
pub struct Recent {
    places: Vec<Option<Kept>>,
}

impl Recent {
    /// Keeps at most so many results, each of at most 2 KiB; 0 keeps none.
    pub fn new(results_max: usize) -> Recent {
        let mut places = Vec::new();
        places.resize_with(results_max, || None);
        Recent { places }
    }

    fn place(&self, key: &Key) -> usize {
        key.spread() % self.places.len().max(1)
    }

    /// The result, where it is of the store's last commit.
    pub(super) fn get(&self, key: &Key, last_commit: usize) -> Option<&[u8]> {
        let kept = self.places.get(self.place(key))?.as_ref()?;
        (kept.commit == last_commit && kept.key == *key).then_some(&kept.result)
    }

    /// Keeps a result of the snapshot that saw this commit.
    pub(super) fn put(&mut self, key: Key, commit: usize, result: &[u8]) {
        if result.len() > RESULT_BYTES_MAX {
            return;
        }
        let place = self.place(&key);
        let Some(place) = self.places.get_mut(place) else {
            return;
        };
        let kept = place.get_or_insert_with(|| Kept {
            key,
            commit,
            result: Vec::new(),
        });
        (kept.key, kept.commit) = (key, commit);
        kept.result.clear();
        kept.result.extend_from_slice(result);
    }
}

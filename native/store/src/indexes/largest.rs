//! The largest entries of a mint in memory, while entries change.

use std::collections::BTreeSet;

use crate::indexes::holder_row::{HOLDERS_MAX, Move, Row};
use crate::rows::keys::Entry;

/// The largest of the entries that were inserted and not removed, up to a maximum.
#[derive(Debug)]
pub(crate) struct Largest {
    entries: BTreeSet<Entry>,
    /// The largest entry that was ever left out: no other one outside is larger.
    left_out: Option<Entry>,
    max: usize,
}

impl Largest {
    pub fn new(max: usize) -> Largest {
        Largest {
            entries: BTreeSet::new(),
            left_out: None,
            max,
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has every entry.
    pub fn is_complete(&self) -> bool {
        self.left_out.is_none()
    }

    pub fn insert(&mut self, entry: Entry) {
        if self.left_out.is_some_and(|left_out| entry < left_out) {
            return;
        }
        self.entries.insert(entry);
        if self.entries.len() > self.max {
            self.left_out = self.entries.pop_first();
        }
    }

    /// Follows one account's change.
    pub fn apply(&mut self, change: &Move) {
        if let Some(old) = change.old {
            self.entries.remove(&old);
        }
        if let Some(new) = change.new {
            self.insert(new);
        }
    }

    /// The largest entries in descending order.
    pub fn first(&self, count: usize) -> Vec<Entry> {
        self.entries.iter().rev().take(count).copied().collect()
    }

    pub fn row(&self) -> Row {
        Row {
            is_complete: self.is_complete() && self.entries.len() <= HOLDERS_MAX,
            entries: self.first(HOLDERS_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_begins_with_the_largest_of_all(
            changes in vec((0u8..40, prop::option::of(0u64..50)), 0..200),
            max in 1usize..12,
        ) {
            let (mut largest, mut all) = (Largest::new(max), BTreeMap::new());
            for (key, amount) in changes {
                let pubkey = [key; 32];
                let old = all.get(&pubkey).map(|amount| (*amount, pubkey));
                largest.apply(&Move { old, new: amount.map(|amount| (amount, pubkey)) });
                match amount {
                    Some(amount) => drop(all.insert(pubkey, amount)),
                    None => drop(all.remove(&pubkey)),
                }
                let mut sorted: Vec<Entry> = all.iter().map(|(key, amount)| (*amount, *key)).collect();
                sorted.sort_unstable_by(|a, b| b.cmp(a));
                let first = largest.first(max);
                prop_assert_eq!(&first[..], &sorted[..first.len()]);
                if largest.is_complete() {
                    prop_assert_eq!(first.len(), sorted.len());
                }
            }
        }
    }
}

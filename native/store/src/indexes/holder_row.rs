//! A row of `holders`: the largest token accounts of one mint.

use std::cmp::Reverse;

use crate::rows::keys::{Entry, MintId};

/// Maximum entries of a row, chosen so that a row fits one LMDB page. A row with fewer than
/// [`HOLDERS_MIN`] entries is short, so the difference is the number of accounts that may leave the
/// row before that.
pub const HOLDERS_MAX: usize = 100;
/// Maximum entries that a read may request: getTokenLargestAccounts returns 20.
pub const HOLDERS_MIN: usize = 20;

const ENTRY_BYTES: usize = 40;

/// The largest accounts of a mint in descending order. Every account not in it is smaller than its
/// last entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Whether it contains every account of the mint.
    pub is_complete: bool,
    pub entries: Vec<Entry>,
}

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 33;

pub(crate) fn key(mint: &MintId) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key[0] = mint.0.tag();
    key[1..].copy_from_slice(&mint.1);
    key
}

impl Row {
    /// The meaning of a missing row: a mint without accounts, with nothing omitted.
    pub fn empty() -> Row {
        Row {
            is_complete: true,
            entries: Vec::new(),
        }
    }

    pub fn decode(value: &[u8]) -> Row {
        let (is_complete, entries) = value
            .split_first()
            .map_or((false, value), |(c, rest)| (*c != 0, rest));
        Row {
            is_complete,
            entries: entries
                .chunks_exact(ENTRY_BYTES)
                .filter_map(decode_entry)
                .collect(),
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(1 + self.entries.len() * ENTRY_BYTES);
        value.push(u8::from(self.is_complete));
        for (amount, pubkey) in &self.entries {
            value.extend_from_slice(&amount.to_be_bytes());
            value.extend_from_slice(pubkey);
        }
        value
    }

    /// Whether it lists too few accounts to answer a read.
    pub fn is_short(&self) -> bool {
        !self.is_complete && self.entries.len() < HOLDERS_MIN
    }

    /// The row after these changes.
    pub fn after(mut self, changes: &[Move]) -> Row {
        // Accounts outside the row are below this entry before and after the changes, even if the
        // entry itself leaves the row.
        let floor = if self.is_complete {
            None
        } else {
            match self.entries.last() {
                Some(last) => Some(*last),
                // Nothing is known: any account outside may be larger than a changed one.
                None => return self,
            }
        };
        let mut old: Vec<Entry> = changes.iter().filter_map(|change| change.old).collect();
        old.sort_unstable();
        self.entries
            .retain(|entry| old.binary_search(entry).is_err());
        let new = changes.iter().filter_map(|change| change.new);
        self.entries
            .extend(new.filter(|entry| floor.is_none_or(|floor| *entry > floor)));
        self.entries.sort_unstable_by_key(|entry| Reverse(*entry));
        if self.entries.len() > HOLDERS_MAX {
            self.entries.truncate(HOLDERS_MAX);
            self.is_complete = false;
        }
        self
    }
}

/// One account of a mint before and after a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move {
    pub old: Option<Entry>,
    pub new: Option<Entry>,
}

fn decode_entry(bytes: &[u8]) -> Option<Entry> {
    let (amount, pubkey) = bytes.split_first_chunk()?;
    Some((u64::from_be_bytes(*amount), *pubkey.first_chunk()?))
}

/// The last entry of a stored row that is not complete, without decoding the rest.
fn floor_of(value: &[u8]) -> Option<Entry> {
    if *value.first()? != 0 {
        return None;
    }
    value
        .last_chunk::<ENTRY_BYTES>()
        .and_then(|bytes| decode_entry(bytes))
}

/// Whether no change reaches the entries of a stored row.
pub(crate) fn is_below(value: &[u8], changes: &[Move]) -> bool {
    let Some(floor) = floor_of(value) else {
        return false;
    };
    let is_below = |entry: Option<Entry>| entry.is_none_or(|entry| entry < floor);
    changes.iter().all(|m| is_below(m.old) && is_below(m.new))
}

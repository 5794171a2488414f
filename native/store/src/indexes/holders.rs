//! The largest token accounts of each mint, in one row per mint; most transfers leave it unchanged.
//! A full index by balance would move two keys at random pages per transfer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Bound;

use heed::{RoTxn, RwTxn};

use crate::rows::keys::{self, Entry, MintId};
use crate::rows::record::decode;
use crate::tables::Tables;
use primitives::token;
use sys::error::Result;

/// Maximum entries of a row, chosen so that a row fits one LMDB page. A row is recomputed when
/// fewer than [`HOLDERS_MIN`] entries are left, so the difference is the number of accounts that
/// may leave the row before that.
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

pub(crate) fn key(mint: &MintId) -> [u8; 33] {
    let mut key = [0; 33];
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

    /// The row after these changes; `None` if too few entries are left to know the largest.
    fn after(mut self, changes: &[Move]) -> Option<Row> {
        // Accounts outside the row are below this entry before and after the changes, even if the
        // entry itself leaves the row.
        let floor = if self.is_complete {
            None
        } else {
            self.entries.last().copied()
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
        (self.is_complete || self.entries.len() >= HOLDERS_MIN).then_some(self)
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

/// Updates the rows. The accounts and `by_mint` of this block must be written first, because rows
/// with too few entries are recomputed from them.
pub(crate) fn write(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    moves: BTreeMap<MintId, Vec<Move>>,
) -> Result<()> {
    for (mint, moves) in moves {
        let key = key(&mint);
        let stored = tables.holders.get(txn, &key)?;
        let row = match stored {
            None => Row::empty(),
            Some(value) => {
                if let Some(floor) = floor_of(value)
                    && moves
                        .iter()
                        .all(|m| m.old.is_none_or(|e| e < floor) && m.new.is_none_or(|e| e < floor))
                {
                    continue;
                }
                Row::decode(value)
            }
        };
        let row = match row.after(&moves) {
            Some(row) => row,
            None => recompute(tables, txn, &mint)?,
        };
        if row.entries.is_empty() {
            tables.holders.delete(txn, &key)?;
        } else {
            tables.holders.put(txn, &key, &row.encode())?;
        }
    }
    Ok(())
}

/// Recomputes a row from every account of the mint.
pub(crate) fn recompute(tables: &Tables, txn: &RoTxn<'_>, mint: &MintId) -> Result<Row> {
    let first = keys::by_mint(mint.0, &mint.1, &[0; 32]);
    let last = keys::by_mint(mint.0, &mint.1, &[0xFF; 32]);
    let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
    let mut largest = BinaryHeap::with_capacity(HOLDERS_MAX + 1);
    let mut count = 0;
    for found in tables.by_mint.range(txn, &range)? {
        let (key, _) = found?;
        let Some(pubkey) = keys::pubkey_of(key) else {
            continue;
        };
        let Some(record) = tables.accounts.get(txn, pubkey)? else {
            continue;
        };
        let account = decode(record)?;
        if let Some(amount) = token::amount_of(account.data)
            && token::is_account(account.data)
        {
            count += 1;
            largest.push(Reverse((amount, *pubkey)));
            if largest.len() > HOLDERS_MAX {
                largest.pop();
            }
        }
    }
    // Ascending order of `Reverse` is descending order of entries.
    let entries = largest
        .into_sorted_vec()
        .into_iter()
        .map(|Reverse(entry)| entry)
        .collect();
    Ok(Row {
        is_complete: count <= HOLDERS_MAX,
        entries,
    })
}

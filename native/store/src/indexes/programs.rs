//! The store's data per program: how many accounts it owns, and which slots `changed` covers.
//!
//! `changed` is a log of the newest writes and not an index of all accounts: each write appends a
//! row, and a program's oldest slots are dropped. Moving one row per account instead would touch a
//! random page for each write, and ranges longer than the retained log are never walked.

use std::collections::BTreeMap;
use std::ops::Bound;

use heed::{RoTxn, RwTxn};

use crate::rows::keys::{self, ChangedKey};
use crate::tables::Tables;
use primitives::Pubkey;
use sys::error::Result;

/// Maximum rows of `changed` per program; a page never collects more. A program with fewer accounts
/// keeps at most one row per account: reading more rows would cost more than reading each account.
pub const CHANGED_ROWS_MAX: u64 = 50_000;

/// The value of a row of `programs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ProgramRow {
    pub accounts: u64,
    pub changed_rows: u64,
    /// Every account of the program that was written after this slot has a row in `changed` for its
    /// last write.
    pub changed_floor: u64,
}

impl ProgramRow {
    pub fn decode(value: &[u8]) -> Option<ProgramRow> {
        let (accounts, rest) = value.split_first_chunk()?;
        let (changed_rows, rest) = rest.split_first_chunk()?;
        Some(ProgramRow {
            accounts: u64::from_be_bytes(*accounts),
            changed_rows: u64::from_be_bytes(*changed_rows),
            changed_floor: u64::from_be_bytes(*rest.first_chunk()?),
        })
    }

    pub fn encode(&self) -> [u8; 24] {
        let mut value = [0; 24];
        value[0..8].copy_from_slice(&self.accounts.to_be_bytes());
        value[8..16].copy_from_slice(&self.changed_rows.to_be_bytes());
        value[16..24].copy_from_slice(&self.changed_floor.to_be_bytes());
        value
    }

    fn changed_rows_max(&self) -> u64 {
        self.accounts.min(CHANGED_ROWS_MAX)
    }
}

/// The changes that blocks make to one program.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProgramMove {
    /// Accounts gained minus accounts lost.
    pub accounts: i64,
    /// The slot of each account's last write, if the program is watched.
    pub written: Vec<(u64, Pubkey)>,
}

/// The row of a program, all zeros if it owns no accounts.
pub(crate) fn read(tables: &Tables, txn: &RoTxn<'_>, program: &Pubkey) -> Result<ProgramRow> {
    Ok(tables
        .programs
        .get(txn, program)?
        .and_then(ProgramRow::decode)
        .unwrap_or_default())
}

/// Updates the programs' rows and `changed`.
pub(crate) fn write(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    moves: BTreeMap<Pubkey, ProgramMove>,
) -> Result<()> {
    for (program, mut moved) in moves {
        let stored = read(tables, txn, &program)?;
        let mut row = stored;
        row.accounts = row.accounts.saturating_add_signed(moved.accounts);
        // A store may be loaded ahead of its tip: rows up to the floor are not guaranteed.
        moved.written.retain(|(slot, _)| *slot > row.changed_floor);
        moved.written.sort_unstable();
        let (kept, floor) = newest_slots(&moved.written, row.changed_rows_max());
        if let Some(floor) = floor {
            // All rows up to the floor would be dropped again.
            let dropped = drop_rows(tables, txn, &program, floor)?;
            row.changed_rows = row.changed_rows.saturating_sub(dropped);
            row.changed_floor = floor;
        }
        for (slot, pubkey) in kept {
            let key = keys::changed(&program, *slot, pubkey);
            // A store that catches up may receive a slot that it already has.
            let known = tables.changed.get_or_put(txn, &key, &[])?;
            row.changed_rows += u64::from(known.is_none());
        }
        trim(tables, txn, &program, &mut row)?;
        if row.accounts == 0 {
            tables.programs.delete(txn, &program)?;
        } else if row != stored {
            tables.programs.put(txn, &program, &row.encode())?;
        }
    }
    Ok(())
}

/// The writes of the newest whole slots that fit into `rows_max`, and the newest slot omitted.
fn newest_slots(written: &[(u64, Pubkey)], rows_max: u64) -> (&[(u64, Pubkey)], Option<u64>) {
    let mut kept = written.len();
    for of_slot in written.chunk_by(|a, b| a.0 == b.0).rev() {
        let before = kept - of_slot.len();
        if (written.len() - before) as u64 > rows_max {
            return (&written[kept..], of_slot.first().map(|(slot, _)| *slot));
        }
        kept = before;
    }
    (written, None)
}

/// Drops the oldest whole slots until only useful rows are left.
fn trim(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    program: &Pubkey,
    row: &mut ProgramRow,
) -> Result<()> {
    while row.changed_rows > row.changed_rows_max() {
        let first = keys::changed(program, 0, &[0; 32]);
        let oldest = tables.changed.get_greater_than_or_equal_to(txn, &first)?;
        let Some(oldest) = oldest.and_then(|(key, _)| slot_of(key)) else {
            break;
        };
        let dropped = drop_rows(tables, txn, program, oldest)?;
        if dropped == 0 {
            break;
        }
        row.changed_rows = row.changed_rows.saturating_sub(dropped);
        row.changed_floor = oldest;
    }
    Ok(())
}

fn slot_of(key: &[u8]) -> Option<u64> {
    key.get(32..)?
        .first_chunk()
        .map(|bytes| u64::from_be_bytes(*bytes))
}

/// Drops a program's rows up to a slot, and returns their number.
fn drop_rows(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    program: &Pubkey,
    slot_last: u64,
) -> Result<u64> {
    let first: ChangedKey = keys::changed(program, 0, &[0; 32]);
    let last = keys::changed(program, slot_last, &[0xFF; 32]);
    let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
    Ok(tables.changed.delete_range(txn, &range)? as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_whole_slots_that_fit_are_kept() {
        let written: Vec<(u64, Pubkey)> = [1, 1, 3, 3, 3, 7]
            .map(|slot| (slot, [slot as u8; 32]))
            .into();
        let cases = [
            (6, 6, None),
            (5, 4, Some(1)),
            (4, 4, Some(1)),
            (3, 1, Some(3)),
            (1, 1, Some(3)),
            (0, 0, Some(7)),
        ];
        for (rows_max, count, floor) in cases {
            let (kept, left_out) = newest_slots(&written, rows_max);
            assert_eq!((kept.len(), left_out), (count, floor), "{rows_max}");
            assert!(written.ends_with(kept));
        }
        assert_eq!(newest_slots(&[], 0), (&[][..], None));
    }
}

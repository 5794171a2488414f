//! Adds the next rows of each table to a copy.

use std::ops::Bound;
use std::time::Instant;

use heed::{PutFlags, RoTxn, RwTxn};

use crate::copy::bounds::{Bounds, SCHEMA_ROW};
use crate::snapshot::Snapshot;
use crate::tables::{Db, Extent, PerTable, TABLES, Tables};
use sys::error::Result;

const NO_SCHEMA: [u8; 4] = [0; 4];
/// The table that takes longest to follow, a page for most writes of a token account. `accounts` is
/// the first of [`TABLES`], and must be: the others follow it.
const LAST: &str = "holders";
/// Rows between two reads of the clock.
const ROWS_PER_LOOK: u64 = 64;

/// Adds rows to one table after the other, within the bounds; whether all rows of all tables are
/// there then.
pub(super) fn add_rows(
    snapshot: &Snapshot<'_>,
    copy: &Tables,
    txn: &mut RwTxn<'_>,
    there: &mut PerTable<Extent>,
    bounds: &Bounds,
) -> Result<bool> {
    let mut allowance = Allowance::of(bounds);
    let tables = TABLES.iter().zip(snapshot.tables().each());
    let copies = copy.each().into_iter().zip(there.each_mut());
    let mut tables: Vec<_> = tables.zip(copies).collect();
    tables.sort_by_key(|((table, _), _)| table.name == LAST);
    for ((table, live), (copy, there)) in tables {
        let pair = (table.name, live, copy);
        if !extend(pair, txn, &snapshot.txn, there, &mut allowance)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Marks an empty copy as none of a store that can be opened.
pub(super) fn begin_meta(copy: &Tables, txn: &mut RwTxn<'_>) -> Result<()> {
    Ok(copy.meta.put(txn, SCHEMA_ROW, &NO_SCHEMA)?)
}

/// Makes the copy a store.
pub(super) fn finish_meta(
    snapshot: &Snapshot<'_>,
    copy: &Tables,
    txn: &mut RwTxn<'_>,
) -> Result<()> {
    if let Some(schema) = snapshot.tables().meta.get(&snapshot.txn, SCHEMA_ROW)? {
        copy.meta.put(txn, SCHEMA_ROW, schema)?;
    }
    Ok(())
}

/// What a step may still add.
struct Allowance {
    bytes: usize,
    deadline: Instant,
    rows: u64,
}

impl Allowance {
    fn of(bounds: &Bounds) -> Allowance {
        Allowance {
            bytes: bounds.bytes,
            deadline: Instant::now() + bounds.time,
            rows: 0,
        }
    }

    /// Takes a row; whether it was the last one.
    fn take(&mut self, bytes: usize) -> bool {
        self.rows += 1;
        self.bytes = self.bytes.saturating_sub(bytes);
        self.bytes == 0
            || self.rows.is_multiple_of(ROWS_PER_LOOK) && Instant::now() >= self.deadline
    }
}

/// Adds rows of a table until all of them are there or nothing more is allowed; whether more is.
fn extend(
    (name, live, copy): (&str, &Db, &Db),
    txn: &mut RwTxn<'_>,
    snapshot: &RoTxn<'_>,
    there: &mut Extent,
    allowance: &mut Allowance,
) -> Result<bool> {
    let after = match &*there {
        Extent::Nothing => Bound::Unbounded,
        Extent::UpTo(last) => Bound::Excluded(&last[..]),
        Extent::Everything => return Ok(true),
    };
    let mut last: Option<Vec<u8>> = None;
    for row in live.range(snapshot, &(after, Bound::Unbounded))? {
        let (key, value) = row?;
        if name != "meta" {
            copy.put_with_flags(txn, PutFlags::APPEND, key, value)?;
        } else if key != SCHEMA_ROW {
            copy.put(txn, key, value)?;
        }
        if allowance.take(key.len() + value.len()) {
            last = Some(key.to_vec());
            break;
        }
    }
    let is_everything = last.is_none();
    *there = last.map_or(Extent::Everything, Extent::UpTo);
    Ok(is_everything)
}

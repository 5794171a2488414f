//! The largest token accounts of each mint, in one row per mint; most transfers leave it unchanged.
//! A full index by balance would move two keys at random pages per transfer.
//!
//! A row whose accounts leave it may become short. It is refilled between commits, from all
//! accounts of the mint ([`crate::indexes::refill`]); a commit never looks at more than the row.

use std::collections::BTreeMap;

use heed::RwTxn;

use crate::indexes::holder_row::{Move, Row, is_below, key};
use crate::indexes::holder_scan::{has_accounts, short_key};
use crate::indexes::refill::Refills;
use crate::rows::keys::MintId;
use crate::tables::Tables;
use sys::error::Result;

/// Updates the rows, those of finished refills included.
pub(crate) fn write(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    moves: BTreeMap<MintId, Vec<Move>>,
    refills: &mut Refills,
) -> Result<()> {
    for (mint, moves) in moves {
        refills.follow(&mint, &moves);
        write_row(tables, txn, &mint, &moves, refills)?;
    }
    while let Some(mint) = refills.take_finished() {
        write_row(tables, txn, &mint, &[], refills)?;
    }
    Ok(())
}

fn write_row(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    mint: &MintId,
    moves: &[Move],
    refills: &mut Refills,
) -> Result<()> {
    let key = key(mint);
    let stored = tables.holders.get(txn, &key)?;
    if stored.is_some_and(|value| !moves.is_empty() && is_below(value, moves)) {
        return Ok(());
    }
    let before = stored.map_or_else(Row::empty, Row::decode);
    let was_short = before.is_short();
    let row = match refills.row(mint) {
        Some(row) => row,
        None => before.after(moves),
    };
    let row = if row.is_short() && !has_accounts(tables, txn, mint)? {
        Row::empty()
    } else {
        row
    };
    if row.is_short() {
        tables.meta.put(txn, &short_key(mint), &[])?;
    } else if was_short || moves.is_empty() {
        tables.meta.delete(txn, &short_key(mint))?;
    }
    refills.ask(mint, &row);
    if row.is_complete && row.entries.is_empty() {
        tables.holders.delete(txn, &key)?;
    } else {
        tables.holders.put(txn, &key, &row.encode())?;
    }
    Ok(())
}

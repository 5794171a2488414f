//! Brings the rows that are in a copy up to a later commit.

use std::hint::black_box;
use std::ops::Bound;

use heed::RwTxn;

use crate::apply::prefault::at_once;
use crate::bulk::writer::Bulk;
use crate::copy::bounds::SCHEMA_ROW;
use crate::copy::written::Touched;
use crate::history::signatures::GROUP_SLOTS;
use crate::indexes::delta::IndexDelta;
use crate::indexes::holder_row;
use crate::indexes::holder_scan::{SHORT, SHORT_END, short_key};
use crate::rows::keys::{self, Indexed};
use crate::rows::record::{Tip, decode};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::tables::{Db, Extent, PerTable, Tables};
use primitives::Pubkey;
use sys::error::Result;

/// Reads the pages that following these accounts needs, many at once; returns how many were waited
/// for.
pub(super) fn prefault(store: &Store, bulk: &Bulk, pubkeys: &[Pubkey]) -> u64 {
    at_once(pubkeys, |part| {
        let (live, copy) = (store.env.read_txn()?, bulk.env.read_txn()?);
        for pubkey in part {
            let old = indexed(bulk.tables.accounts.get(&copy, pubkey)?)?;
            let new = indexed(store.tables.accounts.get(&live, pubkey)?)?;
            let mut delta = IndexDelta::new(&store.options.changed);
            delta.push(pubkey, old.as_ref(), new.as_ref());
            black_box(delta.touch(&bulk.tables, &copy)?);
            for mint in delta.mints() {
                let key = holder_row::key(mint);
                let rows = [
                    store.tables.holders.get(&live, &key)?,
                    bulk.tables.holders.get(&copy, &key)?,
                ];
                // A row may have a page of its own, which a look-up does not read.
                black_box(rows.map(|row| row.and_then(|row| row.first().copied())));
            }
        }
        Ok(())
    })
}

fn indexed(found: Option<&[u8]>) -> Result<Option<Indexed>> {
    Ok(found.map(decode).transpose()?.as_ref().map(Indexed::of))
}

/// Brings what is there of a copy up to the snapshot. `since` is the tip that it is of, `touched`
/// what was written after it.
pub(super) fn follow(
    (snapshot, tables, there): (&Snapshot<'_>, &Tables, &PerTable<Extent>),
    txn: &mut RwTxn<'_>,
    since: Option<&Tip>,
    touched: Touched,
) -> Result<()> {
    let copied = Copied {
        snapshot,
        tables,
        there,
    };
    copied.follow(txn, since, touched)
}

/// What is there of a copy, and the commit that it is to be of.
struct Copied<'c> {
    snapshot: &'c Snapshot<'c>,
    tables: &'c Tables,
    there: &'c PerTable<Extent>,
}

impl Copied<'_> {
    fn follow(&self, txn: &mut RwTxn<'_>, since: Option<&Tip>, mut touched: Touched) -> Result<()> {
        let (live, copy, there) = (self.snapshot.tables(), self.tables, self.there);
        let mut delta = self.follow_accounts(txn, &touched.accounts)?;
        delta.write_keys(copy, txn, Some(there))?;
        touched.mints.extend(delta.mints());
        for mint in &touched.mints {
            let (key, short) = (holder_row::key(mint), short_key(mint));
            self.follow_row((&live.holders, &copy.holders, &there.holders), txn, &key)?;
            self.follow_row((&live.meta, &copy.meta, &there.meta), txn, &short)?;
        }
        let since = since.map_or(0, |since| since.slot);
        touched.programs.extend(delta.programs());
        for program in &touched.programs {
            self.follow_row(
                (&live.programs, &copy.programs, &there.programs),
                txn,
                program,
            )?;
            self.follow_changed(txn, program, since)?;
        }
        let next = (since + 1).to_be_bytes();
        let group = (since / GROUP_SLOTS).to_be_bytes();
        self.follow_log((&live.blocks, &copy.blocks, &there.blocks), txn, &next)?;
        let signatures = (&live.signatures, &copy.signatures, &there.signatures);
        self.follow_log(signatures, txn, &group)?;
        self.follow_log((&live.fees, &copy.fees, &there.fees), txn, &next)?;
        self.follow_meta(txn)
    }

    /// Writes the accounts, and returns what that changes in the indexes.
    fn follow_accounts(&self, txn: &mut RwTxn<'_>, pubkeys: &[Pubkey]) -> Result<IndexDelta<'_>> {
        let snapshot = self.snapshot;
        let (live, copy) = (&snapshot.tables().accounts, &self.tables.accounts);
        let mut delta = IndexDelta::new(&snapshot.store.options.changed);
        for pubkey in pubkeys {
            let new = live.get(&snapshot.txn, pubkey)?;
            let old = indexed(copy.get(txn, pubkey)?)?;
            match new {
                Some(new) => copy.put(txn, pubkey, new)?,
                None if old.is_some() => drop(copy.delete(txn, pubkey)?),
                None => {}
            }
            delta.push(pubkey, old.as_ref(), indexed(new)?.as_ref());
        }
        Ok(delta)
    }

    /// Makes one row what it is in the snapshot.
    fn follow_row(
        &self,
        (live, copy, there): (&Db, &Db, &Extent),
        txn: &mut RwTxn<'_>,
        key: &[u8],
    ) -> Result<()> {
        if !there.has(key) {
            return Ok(());
        }
        let new = live.get(&self.snapshot.txn, key)?;
        // Most rows of holders are as they were, and a page each.
        if copy.get(txn, key)? == new {
            return Ok(());
        }
        match new {
            Some(value) => copy.put(txn, key, value)?,
            None => drop(copy.delete(txn, key)?),
        }
        Ok(())
    }

    /// Rows of a program's log are added with later slots, and dropped from the oldest slot on.
    fn follow_changed(&self, txn: &mut RwTxn<'_>, program: &Pubkey, since: u64) -> Result<()> {
        let (live, copy) = (&self.snapshot.tables().changed, &self.tables.changed);
        let first = keys::changed(program, 0, &[0; 32]);
        if !self.there.changed.has(&first) {
            return Ok(());
        }
        let last = keys::changed(program, u64::MAX, &[0xFF; 32]);
        let (first, last) = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        let mut kept = live.range(&self.snapshot.txn, &(first, last))?;
        let until = match kept.next().transpose()? {
            Some((key, _)) => Bound::Excluded(key),
            None => last,
        };
        copy.delete_range(txn, &(first, until))?;
        let next = keys::changed(program, since + 1, &[0; 32]);
        let new = (Bound::Included(&next[..]), last);
        for row in live.range(&self.snapshot.txn, &new)? {
            let (key, _) = row?;
            if !self.there.changed.has(key) {
                break;
            }
            copy.put(txn, key, &[])?;
        }
        Ok(())
    }

    /// Rows of this table are added behind `from`, and dropped from the first one on.
    fn follow_log(
        &self,
        (live, copy, there): (&Db, &Db, &Extent),
        txn: &mut RwTxn<'_>,
        from: &[u8],
    ) -> Result<()> {
        if *there == Extent::Nothing {
            return Ok(());
        }
        let Some((first, _)) = live.first(&self.snapshot.txn)? else {
            return Ok(copy.clear(txn)?);
        };
        copy.delete_range(txn, &(Bound::Unbounded, Bound::Excluded(first)))?;
        let new = (Bound::Included(from), Bound::Unbounded);
        for row in live.range(&self.snapshot.txn, &new)? {
            let (key, value) = row?;
            if !there.has(key) {
                break;
            }
            copy.put(txn, key, value)?;
        }
        Ok(())
    }

    /// The rows of `meta` that are not of a mint: a few, which any commit may change.
    fn follow_meta(&self, txn: &mut RwTxn<'_>) -> Result<()> {
        let (live, copy, there) = (
            &self.snapshot.tables().meta,
            &self.tables.meta,
            &self.there.meta,
        );
        let before = (Bound::Unbounded, Bound::Excluded(SHORT));
        let after = (Bound::Excluded(SHORT_END), Bound::Unbounded);
        for range in [before, after] {
            let mut known = Vec::new();
            for row in copy.range(txn, &range)? {
                known.push(row?.0.to_vec());
            }
            for row in live.range(&self.snapshot.txn, &range)? {
                known.push(row?.0.to_vec());
            }
            for key in known.iter().filter(|key| key[..] != *SCHEMA_ROW) {
                self.follow_row((live, copy, there), txn, key)?;
            }
        }
        Ok(())
    }
}

//! Checks each row of a store against the other tables within one snapshot.

use std::ops::Bound;

use crate::history::signatures::{self, GROUP_SLOTS};
use crate::indexes::holder_row::{self, HOLDERS_MAX, Row};
use crate::indexes::programs::{self, ProgramRow};
use crate::rows::keys::{self, Indexed, MintId};
use crate::rows::record::decode;
use crate::snapshot::Snapshot;
use crate::tables::{Db, Tables};
use crate::verify::check::{Expect, indexes, is_marked, text};
use crate::verify::check_history::{
    check_blocks, check_fee_slot, check_feed_slot, check_fees_bytes,
};
use crate::verify::steps::{BY_MINT, Step, VerifyLimits};
use primitives::Pubkey;
use sys::error::Result;

/// The checks of one slice.
pub(crate) struct SliceCheck<'l> {
    snapshot: &'l Snapshot<'l>,
    indexes: [(&'static str, Db, Expect); 4],
    limits: &'l VerifyLimits,
    /// The most recently checked mint and its row.
    holders: Option<(MintId, Row)>,
    /// The most recently checked slot of fees.
    fee_slot: Option<u64>,
    pub found: Vec<String>,
    /// Rows read, including those of other tables.
    pub rows: u64,
    pub uncounted: u64,
}

impl<'l> SliceCheck<'l> {
    /// Begins a slice on a snapshot; `after` is the last row that the previous slice checked.
    pub fn new(
        snapshot: &'l Snapshot<'l>,
        limits: &'l VerifyLimits,
        after: &[u8],
    ) -> SliceCheck<'l> {
        SliceCheck {
            snapshot,
            indexes: indexes(snapshot.tables()),
            limits,
            holders: None,
            fee_slot: (!after.is_empty()).then(|| keys::slot_of(after)),
            found: Vec::new(),
            rows: 0,
            uncounted: 0,
        }
    }

    pub fn row(&mut self, step: Step, key: &[u8], value: &[u8]) -> Result<()> {
        match step {
            Step::Accounts => self.account(key, value),
            Step::Index(i) => self.index(i, key),
            Step::Holders => self.holders(key, value),
            Step::Changed => self.changed(key),
            Step::Programs => self.program(key, value),
            Step::Blocks => Ok(()),
            Step::Feed => check_feed_slot(self.snapshot, keys::slot_of(key), &mut self.found),
            Step::Fees => self.fees(key),
            Step::Signatures => {
                self.signature(key, value);
                Ok(())
            }
        }
    }

    fn tables(&self) -> &Tables {
        self.snapshot.tables()
    }

    fn indexed(&self, pubkey: &Pubkey) -> Result<Option<Indexed>> {
        let stored = self.tables().accounts.get(&self.snapshot.txn, pubkey)?;
        Ok(stored
            .and_then(|value| decode(value).ok())
            .map(|account| Indexed::of(&account)))
    }

    /// Every row that an account requires exists.
    fn account(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (Ok(account), Ok(pubkey)) = (decode(value), <&Pubkey>::try_from(key)) else {
            self.found
                .push(format!("accounts: the record of {} is damaged", text(key)));
            return Ok(());
        };
        if account.lamports == 0 {
            self.found
                .push(format!("accounts: {} has no lamports", text(key)));
        }
        let indexed = Indexed::of(&account);
        for (name, table, expect) in &self.indexes {
            let Some((key, value)) = expect(&indexed, pubkey) else {
                continue;
            };
            match table.get(&self.snapshot.txn, &key)? {
                None => self
                    .found
                    .push(format!("{name}: the row of {} is missing", text(pubkey))),
                Some(stored) if stored != value => self.found.push(format!(
                    "{name}: the row of {} has another value",
                    text(pubkey)
                )),
                Some(_) => {}
            }
        }
        self.of_program(pubkey, &indexed)
    }

    /// The owner has a row, and each write after its floor has a row in `changed`.
    fn of_program(&mut self, pubkey: &Pubkey, indexed: &Indexed) -> Result<()> {
        let (owner, slot) = (&indexed.owner, indexed.slot);
        let txn = &self.snapshot.txn;
        let row = self.tables().programs.get(txn, owner)?;
        if row.is_none() {
            self.found
                .push(format!("programs: {} has no row", text(owner)));
        }
        let row = row.and_then(ProgramRow::decode).unwrap_or_default();
        if self.snapshot.store.options.changed.covers(owner)
            && slot > row.changed_floor
            && self
                .tables()
                .changed
                .get(txn, &keys::changed(owner, slot, pubkey))?
                .is_none()
        {
            self.found.push(format!(
                "changed: the row of {} in slot {slot} is missing",
                text(pubkey)
            ));
        }
        Ok(())
    }

    /// The account of an index row has the indexed value.
    fn index(&mut self, i: usize, key: &[u8]) -> Result<()> {
        let Some((name, _, expect)) = self.indexes.get(i).copied() else {
            return Ok(());
        };
        let Some(pubkey) = keys::pubkey_of(key) else {
            self.found.push(format!("{name}: {} is no key", text(key)));
            return Ok(());
        };
        let indexed = self.indexed(pubkey)?;
        let wanted = indexed.and_then(|indexed| expect(&indexed, pubkey));
        if wanted.is_none_or(|(wanted, _)| wanted != key) {
            self.found.push(format!(
                "{name}: {} has a row that it should not have",
                text(pubkey)
            ));
        }
        match indexed {
            Some(indexed) if i == BY_MINT => self.holder(&indexed, pubkey),
            _ => Ok(()),
        }
    }

    /// A token account is among its mint's holders, or is too small to be.
    fn holder(&mut self, indexed: &Indexed, pubkey: &Pubkey) -> Result<()> {
        let Some((mint, entry)) = indexed.holder(pubkey) else {
            return Ok(());
        };
        if self.holders.as_ref().is_none_or(|(of, _)| *of != mint) {
            let key = holder_row::key(&mint);
            let stored = self.tables().holders.get(&self.snapshot.txn, &key)?;
            self.holders = Some((mint, stored.map_or_else(Row::empty, Row::decode)));
        }
        let is_right = self.holders.as_ref().is_some_and(|(_, row)| {
            let is_below = !row.is_complete && row.entries.last().is_none_or(|last| entry < *last);
            is_below || row.entries.contains(&entry)
        });
        if !is_right {
            self.wrong_holders(&mint);
        }
        Ok(())
    }

    fn wrong_holders(&mut self, mint: &MintId) {
        let sentence = format!("holders: the row of {} is wrong", text(&mint.1));
        if self.found.last() != Some(&sentence) {
            self.found.push(sentence);
        }
    }

    /// A `holders` row lists enough accounts, in order and with their current balances.
    fn holders(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let Some(mint) = keys::mint_of(key) else {
            self.found.push(format!("holders: {} is no key", text(key)));
            return Ok(());
        };
        let row = Row::decode(value);
        let count = row.entries.len();
        let is_marked = is_marked(self.tables(), &self.snapshot.txn, &mint)?;
        let mut is_right = count <= HOLDERS_MAX
            && (count > 0 || !row.is_complete)
            && row.is_short() == is_marked
            && row.entries.is_sorted_by(|a, b| a > b);
        for entry in &row.entries {
            let of_account = self.indexed(&entry.1)?.and_then(|i| i.holder(&entry.1));
            is_right = is_right && of_account == Some((mint, *entry));
        }
        if !is_right {
            self.wrong_holders(&mint);
        }
        Ok(())
    }

    /// A `changed` row is neither before its program's floor nor after its account's last write.
    fn changed(&mut self, key: &[u8]) -> Result<()> {
        let Some((program, slot, pubkey)) = keys::split_changed(key) else {
            self.found.push(format!("changed: {} is no key", text(key)));
            return Ok(());
        };
        let Some(row) = self.tables().programs.get(&self.snapshot.txn, program)? else {
            self.found.push(format!(
                "changed: {} owns nothing, but has rows",
                text(program)
            ));
            return Ok(());
        };
        let row = ProgramRow::decode(row).unwrap_or_default();
        let account = self.indexed(pubkey)?;
        let is_newer = account.is_some_and(|a| a.owner == *program && a.slot < slot);
        if slot <= row.changed_floor || is_newer {
            self.found
                .push(format!("changed: {} has a row too many", text(pubkey)));
        }
        Ok(())
    }

    /// A program's counts match its rows.
    fn program(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let Ok(program) = <&Pubkey>::try_from(key) else {
            self.found
                .push(format!("programs: {} is no key", text(key)));
            return Ok(());
        };
        let row = ProgramRow::decode(value).unwrap_or_default();
        let (first, last) = ([0; 32], [0xFF; 32]);
        if row.accounts <= self.limits.program_rows_max {
            let range = (
                keys::by_program(program, &first),
                keys::by_program(program, &last),
            );
            let stored = row.accounts;
            let counted = self.count(self.tables().by_program, &range.0, &range.1, stored)?;
            if counted != stored {
                let counted = at_least(counted, stored);
                self.found.push(format!(
                    "programs: {} owns {counted}, not {stored}",
                    text(key)
                ));
            }
        } else {
            self.uncounted += 1;
        }
        let range = (
            keys::changed(program, 0, &first),
            keys::changed(program, u64::MAX, &last),
        );
        let stored = row.changed_rows;
        // The writer never stores a larger number: one above the limit is wrong, so counting stops
        // there.
        let count_max = stored.min(programs::CHANGED_ROWS_MAX);
        let counted = self.count(self.tables().changed, &range.0, &range.1, count_max)?;
        if counted != stored {
            let counted = at_least(counted, count_max);
            self.found.push(format!(
                "changed: {} has {counted} rows, not {stored}",
                text(key)
            ));
        }
        Ok(())
    }

    /// Counts the rows of a range, up to one more than expected.
    fn count(&mut self, db: Db, first: &[u8], last: &[u8], wanted: u64) -> Result<u64> {
        let range = (Bound::Included(first), Bound::Included(last));
        let mut counted = 0;
        for row in db.range(&self.snapshot.txn, &range)? {
            row?;
            counted += 1;
            if counted > wanted {
                break;
            }
        }
        self.rows += counted;
        Ok(counted)
    }

    /// Checks the blocks and the totals in one slice; they are small.
    pub fn sums(&mut self) -> Result<()> {
        let txn = &self.snapshot.txn;
        let accounts = self.tables().accounts.len(txn)?;
        if self.tables().programs.len(txn)? <= self.limits.program_rows_max {
            let mut owned: u64 = 0;
            for row in self.tables().programs.iter(txn)? {
                let row = ProgramRow::decode(row?.1).unwrap_or_default();
                owned = owned.saturating_add(row.accounts);
            }
            if owned != accounts {
                self.found.push(format!(
                    "programs: they own {owned} accounts together, not {accounts}"
                ));
            }
        }
        self.rows += self.tables().blocks.len(txn)?;
        check_blocks(self.snapshot, &mut self.found)?;
        check_fees_bytes(self.snapshot, &mut self.found)
    }

    fn fees(&mut self, key: &[u8]) -> Result<()> {
        let slot = keys::slot_of(key);
        if self.fee_slot.replace(slot) == Some(slot) {
            return Ok(());
        }
        check_fee_slot(self.snapshot, slot, &mut self.found)
    }

    /// A transaction outcome is in the group of its slot, and its slot is not after the tip.
    fn signature(&mut self, key: &[u8], value: &[u8]) {
        let group = keys::slot_of(key);
        let Some(outcome) = signatures::decode(value) else {
            self.found
                .push("signatures: an outcome cannot be read".to_owned());
            return;
        };
        let slot = outcome.slot;
        if slot / GROUP_SLOTS != group || slot > self.snapshot.slot() {
            self.found.push(format!(
                "signatures: an outcome of slot {slot} is in the group of slot {}",
                group.saturating_mul(GROUP_SLOTS)
            ));
        }
    }
}

/// Formats a count that may have stopped early.
fn at_least(counted: u64, wanted: u64) -> String {
    if counted > wanted {
        format!("more than {wanted}")
    } else {
        counted.to_string()
    }
}

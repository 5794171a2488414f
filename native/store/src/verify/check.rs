//! Checks every index against `accounts`.

use std::collections::HashMap;

use heed::RoTxn;

use crate::indexes::holder_row::{self, Row};
use crate::indexes::holder_scan::{has_accounts, recompute, short_after, short_key};
use crate::indexes::programs::{self, ProgramRow};
use crate::rows::keys::{self, Indexed, MintId};
use crate::rows::record::decode;
use crate::store::Store;
use crate::tables::{Db, Tables};
use primitives::Pubkey;
use sys::error::Result;

/// A check stops after this many differences; more would not help.
const DIFFERENCES_MAX: usize = 100;

impl Store {
    /// Recomputes every index from `accounts`, checks the retained history, and returns the
    /// differences as sentences, at most 100. Uses one read transaction after another and walks
    /// each table; keeps only the programs' counts in memory.
    pub fn check(&self) -> Result<Vec<String>> {
        let txn = self.env.read_txn()?;
        let mut check = Check {
            store: self,
            tables: &self.tables,
            txn: &txn,
            rows: [0; 4],
            found: Vec::new(),
        };
        let counts = check.accounts()?;
        check.indexes()?;
        check.holders()?;
        check.changed()?;
        check.programs(counts)?;
        let mut found = check.found;
        // A thread can have only one read transaction at a time.
        drop(txn);
        self.check_kept(&mut found)?;
        found.truncate(DIFFERENCES_MAX);
        Ok(found)
    }
}

/// Computes the row that an account requires in an index, if any.
pub(crate) type Expect = fn(&Indexed, &Pubkey) -> Option<(Vec<u8>, Vec<u8>)>;

fn bare(key: &[u8]) -> (Vec<u8>, Vec<u8>) {
    (key.to_vec(), Vec::new())
}

/// The indexes with exactly one row for each account they cover.
pub(crate) fn indexes(tables: &Tables) -> [(&'static str, Db, Expect); 4] {
    [
        ("by_program", tables.by_program, |i, key| {
            Some(bare(&i.program_key(key)))
        }),
        ("by_discriminator", tables.by_discriminator, |i, key| {
            i.discriminator_key(key).map(|k| bare(&k))
        }),
        ("by_mint", tables.by_mint, |i, key| {
            i.mint_key(key).map(|k| bare(&k))
        }),
        ("by_token_owner", tables.by_token_owner, |i, key| {
            i.token_owner_key(key)
                .map(|(k, mint)| (k.to_vec(), mint.to_vec()))
        }),
    ]
}

struct Check<'c> {
    store: &'c Store,
    tables: &'c Tables,
    txn: &'c RoTxn<'c>,
    /// The expected number of rows of each of [`indexes`].
    rows: [u64; 4],
    found: Vec<String>,
}

impl Check<'_> {
    fn is_full(&self) -> bool {
        self.found.len() >= DIFFERENCES_MAX
    }

    /// Every row that an account requires exists. Returns the number of accounts of each program.
    fn accounts(&mut self) -> Result<HashMap<Pubkey, u64>> {
        let indexes = indexes(self.tables);
        let mut counts = HashMap::new();
        for row in self.tables.accounts.iter(self.txn)? {
            let (key, value) = row?;
            let (Ok(account), Some(pubkey)) = (decode(value), keys::pubkey_of(key)) else {
                self.found
                    .push(format!("accounts: the record of {} is damaged", text(key)));
                continue;
            };
            if account.lamports == 0 {
                self.found
                    .push(format!("accounts: {} has no lamports", text(key)));
            }
            *counts.entry(*account.owner).or_default() += 1;
            let indexed = Indexed::of(&account);
            for (i, (name, table, expect)) in indexes.iter().enumerate() {
                let Some((key, value)) = expect(&indexed, pubkey) else {
                    continue;
                };
                self.rows[i] += 1;
                match table.get(self.txn, &key)? {
                    None => self
                        .found
                        .push(format!("{name}: the row of {} is missing", text(pubkey))),
                    Some(stored) if stored != value => {
                        self.found.push(format!(
                            "{name}: the row of {} has another value",
                            text(pubkey)
                        ));
                    }
                    Some(_) => {}
                }
            }
            self.is_logged(pubkey, &indexed)?;
            if self.is_full() {
                break;
            }
        }
        Ok(counts)
    }

    /// Each write after its program's floor has a row in `changed`.
    fn is_logged(&mut self, pubkey: &Pubkey, indexed: &Indexed) -> Result<()> {
        let (owner, slot) = (&indexed.owner, indexed.slot);
        if self.store.options.changed.covers(owner)
            && slot > programs::read(self.tables, self.txn, owner)?.changed_floor
            && self
                .tables
                .changed
                .get(self.txn, &keys::changed(owner, slot, pubkey))?
                .is_none()
        {
            self.found.push(format!(
                "changed: the row of {} in slot {slot} is missing",
                text(pubkey)
            ));
        }
        Ok(())
    }

    /// No index has an extra row; an index is walked only if its number of rows is wrong.
    fn indexes(&mut self) -> Result<()> {
        for (i, (name, table, expect)) in indexes(self.tables).iter().enumerate() {
            if self.is_full() || table.len(self.txn)? == self.rows[i] {
                continue;
            }
            for row in table.iter(self.txn)? {
                let (key, _) = row?;
                let Some(pubkey) = keys::pubkey_of(key) else {
                    continue;
                };
                let wanted = self
                    .indexed(pubkey)?
                    .and_then(|indexed| expect(&indexed, pubkey));
                if wanted.is_none_or(|(wanted, _)| wanted != key) {
                    self.found.push(format!(
                        "{name}: {} has a row that it should not have",
                        text(pubkey)
                    ));
                }
                if self.is_full() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn indexed(&self, pubkey: &Pubkey) -> Result<Option<Indexed>> {
        let stored = self.tables.accounts.get(self.txn, pubkey)?;
        Ok(stored
            .and_then(|value| decode(value).ok())
            .map(|account| Indexed::of(&account)))
    }

    /// Each mint's row lists its largest accounts, and no other mint has a row.
    fn holders(&mut self) -> Result<()> {
        let (mut last, mut rows) = (None, 0);
        for row in self.tables.by_mint.iter(self.txn)? {
            let Some(mint) = keys::mint_of(row?.0) else {
                continue;
            };
            if last.replace(mint) == Some(mint) {
                continue;
            }
            let wanted = recompute(self.tables, self.txn, &mint)?;
            let stored = self.tables.holders.get(self.txn, &holder_row::key(&mint))?;
            rows += u64::from(stored.is_some());
            let is_marked = is_marked(self.tables, self.txn, &mint)?;
            if !is_top(
                &stored.map_or_else(Row::empty, Row::decode),
                &wanted,
                is_marked,
            ) {
                self.found
                    .push(format!("holders: the row of {} is wrong", text(&mint.1)));
            }
            if self.is_full() {
                return Ok(());
            }
        }
        if self.tables.holders.len(self.txn)? != rows + self.short_rows_of_none()? {
            self.found
                .push("holders: there are rows of mints without accounts".to_string());
        }
        Ok(())
    }

    /// Rows that are to be refilled, of mints whose last account was closed meanwhile.
    fn short_rows_of_none(&self) -> Result<u64> {
        let (mut rows, mut last) = (0, None);
        while let Some(mint) = short_after(self.tables, self.txn, last.as_ref())? {
            let row = self.tables.holders.get(self.txn, &holder_row::key(&mint))?;
            rows += u64::from(row.is_some() && !has_accounts(self.tables, self.txn, &mint)?);
            last = Some(mint);
        }
        Ok(rows)
    }

    /// No row of `changed` is before its program's floor or after its account's last write.
    fn changed(&mut self) -> Result<()> {
        let mut last: Option<(Pubkey, ProgramRow, u64)> = None;
        for row in self.tables.changed.iter(self.txn)? {
            let (key, _) = row?;
            let Some((program, slot, pubkey)) = keys::split_changed(key) else {
                continue;
            };
            if last.is_none_or(|(of, _, _)| of != *program) {
                self.is_counted(last);
                last = Some((*program, programs::read(self.tables, self.txn, program)?, 0));
            }
            if let Some((_, row, count)) = &mut last {
                *count += 1;
                let is_old = slot <= row.changed_floor;
                let account = self.indexed(pubkey)?;
                if is_old
                    || account
                        .is_some_and(|account| account.owner == *program && account.slot < slot)
                {
                    self.found
                        .push(format!("changed: {} has a row too many", text(pubkey)));
                }
            }
            if self.is_full() {
                return Ok(());
            }
        }
        self.is_counted(last);
        Ok(())
    }

    fn is_counted(&mut self, of: Option<(Pubkey, ProgramRow, u64)>) {
        if let Some((program, row, count)) = of
            && row.changed_rows != count
        {
            let stored = row.changed_rows;
            self.found.push(format!(
                "changed: {} has {count} rows, not {stored}",
                text(&program)
            ));
        }
    }

    fn programs(&mut self, mut counts: HashMap<Pubkey, u64>) -> Result<()> {
        if self.is_full() {
            return Ok(());
        }
        for row in self.tables.programs.iter(self.txn)? {
            let (key, value) = row?;
            let stored = ProgramRow::decode(value).unwrap_or_default().accounts;
            let counted = key
                .first_chunk()
                .and_then(|program: &Pubkey| counts.remove(program));
            if counted != Some(stored) {
                let counted = counted.unwrap_or(0);
                self.found.push(format!(
                    "programs: {} owns {counted}, not {stored}",
                    text(key)
                ));
            }
        }
        self.found.extend(
            counts
                .keys()
                .map(|program| format!("programs: {} has no row", text(program))),
        );
        Ok(())
    }
}

/// Whether a stored row is valid against the recomputed one: it may list fewer accounts, but enough
/// of them, unless it is marked to be refilled.
fn is_top(stored: &Row, wanted: &Row, is_marked: bool) -> bool {
    let count = stored.entries.len();
    if stored.is_complete {
        return !is_marked && wanted.is_complete && stored.entries == wanted.entries;
    }
    stored.is_short() == is_marked && wanted.entries.get(..count) == Some(&stored.entries[..])
}

/// Whether a mint's row is marked as short.
pub(crate) fn is_marked(tables: &Tables, txn: &RoTxn<'_>, mint: &MintId) -> Result<bool> {
    Ok(tables.meta.get(txn, &short_key(mint))?.is_some())
}

/// Formats a key for messages.
pub(crate) fn text(key: &[u8]) -> String {
    match key.first_chunk::<32>() {
        Some(pubkey) => primitives::encoding::encode_pubkey(pubkey),
        None => format!("{key:?}"),
    }
}

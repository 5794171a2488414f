//! Whether every index is what `accounts` says it should be.

use std::collections::HashMap;

use heed::RoTxn;

use super::keys::{self, Indexed};
use super::open::Store;
use super::options::Changed;
use super::snapshot::decode;
use super::tables::Db;
use crate::Pubkey;
use crate::error::Result;

/// Differences after which a check stops: the store is wrong, and one more line says nothing new.
const DIFFERENCES_MAX: usize = 100;

impl Store {
    /// Recomputes every index from `accounts` and answers the differences as sentences, the first 100. Holds one
    /// read transaction for all of it and only the counts of programs in memory.
    pub fn check(&self) -> Result<Vec<String>> {
        let txn = self.env.read_txn()?;
        let mut check = Check {
            store: self,
            txn: &txn,
            rows: [0; 6],
            counts: HashMap::new(),
            found: Vec::new(),
        };
        check.accounts()?;
        check.indexes()?;
        check.programs()?;
        check.found.truncate(DIFFERENCES_MAX);
        Ok(check.found)
    }
}

/// The indexes that are recomputed: name, table, and the row that an account should have.
type Expect = fn(&Indexed, &Pubkey, &Changed) -> Option<(Vec<u8>, Vec<u8>)>;

fn bare(key: &[u8]) -> (Vec<u8>, Vec<u8>) {
    (key.to_vec(), Vec::new())
}

fn indexes(store: &Store) -> [(&'static str, Db, Expect); 6] {
    let t = &store.tables;
    [
        ("by_program", t.by_program, |i, key, _| {
            Some(bare(&i.program_key(key)))
        }),
        ("by_discriminator", t.by_discriminator, |i, key, _| {
            i.discriminator_key(key).map(|k| bare(&k))
        }),
        ("by_mint", t.by_mint, |i, key, _| {
            i.mint_key(key).map(|k| bare(&k))
        }),
        ("by_token_owner", t.by_token_owner, |i, key, _| {
            i.token_owner_key(key)
                .map(|(k, mint)| (k.to_vec(), mint.to_vec()))
        }),
        ("holders", t.holders, |i, key, _| {
            i.holder_key(key).map(|k| bare(&k))
        }),
        ("changed", t.changed, |i, key, watched| {
            i.changed_key(watched, key).map(|k| bare(&k))
        }),
    ]
}

struct Check<'c> {
    store: &'c Store,
    txn: &'c RoTxn<'c>,
    /// Rows that each index should have.
    rows: [u64; 6],
    counts: HashMap<Pubkey, u64>,
    found: Vec<String>,
}

impl Check<'_> {
    /// Every row that an account should have is there.
    fn accounts(&mut self) -> Result<()> {
        let indexes = indexes(self.store);
        for row in self.store.tables.accounts.iter(self.txn)? {
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
            *self.counts.entry(*account.owner).or_default() += 1;
            let indexed = Indexed::of(&account);
            for (i, (name, table, expect)) in indexes.iter().enumerate() {
                let Some((key, value)) = expect(&indexed, pubkey, &self.store.options.changed)
                else {
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
            if self.found.len() >= DIFFERENCES_MAX {
                break;
            }
        }
        Ok(())
    }

    /// No index has a row too many: walked only where the number of rows says so.
    fn indexes(&mut self) -> Result<()> {
        for (i, (name, table, expect)) in indexes(self.store).iter().enumerate() {
            if self.found.len() >= DIFFERENCES_MAX || table.len(self.txn)? == self.rows[i] {
                continue;
            }
            for row in table.iter(self.txn)? {
                let (key, _) = row?;
                let Some(pubkey) = keys::pubkey_of(key) else {
                    continue;
                };
                let stored = self
                    .store
                    .tables
                    .accounts
                    .get(self.txn, pubkey)?
                    .and_then(|v| decode(v).ok());
                let wanted = stored.and_then(|account| {
                    expect(&Indexed::of(&account), pubkey, &self.store.options.changed)
                });
                if wanted.is_none_or(|(wanted, _)| wanted != key) {
                    self.found.push(format!(
                        "{name}: {} has a row that it should not have",
                        text(pubkey)
                    ));
                }
                if self.found.len() >= DIFFERENCES_MAX {
                    break;
                }
            }
        }
        Ok(())
    }

    fn programs(&mut self) -> Result<()> {
        let programs = &self.store.tables.programs;
        for row in programs.iter(self.txn)? {
            let (key, value) = row?;
            let stored = value
                .first_chunk()
                .map_or(0, |bytes| u64::from_be_bytes(*bytes));
            let counted = key
                .first_chunk()
                .and_then(|program: &Pubkey| self.counts.remove(program));
            if counted != Some(stored) {
                let counted = counted.unwrap_or(0);
                self.found.push(format!(
                    "programs: {} owns {counted}, not {stored}",
                    text(key)
                ));
            }
        }
        let missing = self
            .counts
            .keys()
            .map(|program| format!("programs: {} has no row", text(program)));
        self.found.extend(missing);
        Ok(())
    }
}

/// A key as people know it.
fn text(key: &[u8]) -> String {
    match key.first_chunk::<32>() {
        Some(pubkey) => solana_pubkey::Pubkey::new_from_array(*pubkey).to_string(),
        None => format!("{key:?}"),
    }
}

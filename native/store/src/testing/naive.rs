//! A model of the store: a map whose answers are plain scans. Every index must agree with it.

use std::collections::BTreeMap;

use crate::{
    AccountRef, AccountUpdate, Filter, OwnerFilter, OwnerQuery, PageEnd, ProgramQuery, Snapshot,
};
use primitives::Pubkey;
use primitives::token::{self, TokenProgram};

#[derive(Default, Clone)]
pub struct Model {
    pub accounts: BTreeMap<Pubkey, (u64, AccountUpdate)>,
}

impl Model {
    pub fn apply(&mut self, slot: u64, updates: &[AccountUpdate]) {
        for update in updates {
            if update.lamports == 0 {
                self.accounts.remove(&update.pubkey);
            } else {
                self.accounts.insert(update.pubkey, (slot, update.clone()));
            }
        }
    }

    fn matching(
        &self,
        after: Option<Pubkey>,
        test: impl Fn(&AccountRef<'_>) -> bool,
    ) -> Vec<Pubkey> {
        let rows = self
            .accounts
            .iter()
            .filter(|(key, _)| after.is_none_or(|after| **key > after));
        rows.filter(|(_, (slot, update))| test(&update.at(*slot)))
            .map(|(key, _)| *key)
            .collect()
    }

    pub fn program(&self, query: &ProgramQuery) -> Vec<Pubkey> {
        self.matching(query.after, |account| {
            let is_filtered = query.filters.iter().all(|filter| match filter {
                Filter::DataSize(bytes) => account.data.len() as u64 == *bytes,
                Filter::Memcmp { offset, bytes } => {
                    let end = *offset as u128 + bytes.len() as u128;
                    end <= account.data.len() as u128
                        && account.data[*offset as usize..end as usize] == bytes[..]
                }
            });
            *account.owner == query.program
                && is_filtered
                && query.changed_since.is_none_or(|since| account.slot > since)
        })
    }

    pub fn owner(&self, query: &OwnerQuery) -> Vec<Pubkey> {
        self.matching(query.after, |account| {
            let program = TokenProgram::of(account.owner);
            program.is_some()
                && token::is_account(account.data)
                && account.data[32..64] == query.wallet
                && match query.filter {
                    OwnerFilter::Mint(mint) => account.data[0..32] == mint,
                    OwnerFilter::Program(wanted) => program == Some(wanted),
                }
        })
    }

    pub fn holders(&self, program: TokenProgram, mint: &Pubkey) -> Vec<(u64, Pubkey)> {
        let of_mint = self.accounts.iter().filter(|(_, (_, account))| {
            account.owner == *program.id()
                && token::is_account(&account.data)
                && account.data[0..32] == *mint
        });
        let mut all: Vec<_> = of_mint
            .map(|(key, (_, account))| (token::amount_of(&account.data).unwrap(), *key))
            .collect();
        all.sort();
        all.reverse();
        all.truncate(20);
        all
    }

    /// Asserts that the store contains exactly these accounts.
    pub fn assert_in(&self, snapshot: &Snapshot<'_>) {
        let stored = snapshot.tables().accounts.iter(&snapshot.txn).unwrap();
        let keys: Vec<Vec<u8>> = stored.map(|row| row.unwrap().0.to_vec()).collect();
        assert_eq!(
            keys,
            self.accounts
                .keys()
                .map(|key| key.to_vec())
                .collect::<Vec<_>>()
        );
        for (key, (slot, update)) in &self.accounts {
            assert_eq!(snapshot.account(key).unwrap(), Some(update.at(*slot)));
        }
    }
}

/// The expected result of a page of these matches.
pub fn end_of(matches: &[Pubkey], limit: usize) -> (Vec<Pubkey>, PageEnd) {
    let rows: Vec<Pubkey> = matches.iter().take(limit).copied().collect();
    let last = (rows.len() == limit).then(|| rows[limit - 1]);
    let count = rows.len();
    (rows, PageEnd { count, last })
}

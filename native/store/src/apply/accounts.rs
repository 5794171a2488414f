//! Writes one account, and looks up the accounts of a mint.

use std::io::Write;
use std::ops::Bound;

use heed::RwTxn;

use crate::rows::keys;
use crate::rows::record::{self, AccountRef, HEAD_BYTES};
use crate::store::Store;
use primitives::Pubkey;
use primitives::token::TokenProgram;
use sys::error::Result;

impl Store {
    pub(crate) fn write_account(
        &self,
        txn: &mut RwTxn<'_>,
        pubkey: &Pubkey,
        is_stored: bool,
        account: Option<&AccountRef<'_>>,
    ) -> Result<()> {
        let accounts = &self.tables.accounts;
        if let Some(account) = account {
            let bytes = HEAD_BYTES + account.data.len();
            accounts.put_reserved(txn, pubkey, bytes, |space| {
                space.write_all(&record::encode_head(account))?;
                space.write_all(account.data)
            })?;
        } else if is_stored {
            accounts.delete(txn, pubkey)?;
        }
        Ok(())
    }

    /// Whether the store has token accounts of a mint, by the token program that owns it.
    pub(crate) fn has_accounts_of(
        &self,
        txn: &RwTxn<'_>,
        mint: &Pubkey,
        owner: &Pubkey,
    ) -> Result<bool> {
        let Some(program) = TokenProgram::of(owner) else {
            return Ok(false);
        };
        let first = keys::by_mint(program, mint, &[0; 32]);
        let last = keys::by_mint(program, mint, &[0xFF; 32]);
        let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        Ok(self
            .tables
            .by_mint
            .range(txn, &range)?
            .next()
            .transpose()?
            .is_some())
    }
}

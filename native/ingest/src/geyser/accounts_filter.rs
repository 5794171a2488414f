//! The accounts that a subscription requests.

use primitives::Pubkey;
use store::Scope;
use sys::error::{Error, Result};

/// The accounts that the store keeps. The subscription plan sets how they are requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountsFilter {
    All,
    /// The accounts of a scoped store.
    Listed {
        /// Every account of these programs.
        programs: Vec<Pubkey>,
        /// These mints and their accounts under both token programs.
        mints: Vec<Pubkey>,
        pubkeys: Vec<Pubkey>,
    },
}

impl AccountsFilter {
    /// Builds a listed filter from base58 texts. Fails with the first text that is not an address.
    pub fn from_base58(
        programs: &[String],
        mints: &[String],
        pubkeys: &[String],
    ) -> Result<AccountsFilter> {
        Ok(AccountsFilter::Listed {
            programs: decode_all(programs)?,
            mints: decode_all(mints)?,
            pubkeys: decode_all(pubkeys)?,
        })
    }
}

impl From<&Scope> for AccountsFilter {
    fn from(scope: &Scope) -> AccountsFilter {
        match scope {
            Scope::All => AccountsFilter::All,
            Scope::Listed {
                programs,
                mints,
                pubkeys,
            } => AccountsFilter::Listed {
                programs: programs.clone(),
                mints: mints.clone(),
                pubkeys: pubkeys.clone(),
            },
        }
    }
}

fn decode_all(texts: &[String]) -> Result<Vec<Pubkey>> {
    texts
        .iter()
        .map(|text| {
            let mut key = [0; 32];
            match five8::decode_32(text, &mut key) {
                Ok(()) => Ok(key),
                Err(_) => Err(Error::PubkeyDecode(text.clone())),
            }
        })
        .collect()
}

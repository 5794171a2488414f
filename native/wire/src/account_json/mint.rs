//! Mint data for token amounts.

use std::collections::HashMap;

use solana_account_decoder::parse_account_data::SplTokenAdditionalDataV2;
use spl_token_2022_interface::extension::interest_bearing_mint::InterestBearingConfig;
use spl_token_2022_interface::extension::scaled_ui_amount::ScaledUiAmountConfig;
use spl_token_2022_interface::extension::{BaseStateWithExtensions, StateWithExtensions};
use spl_token_2022_interface::state::Mint;

use super::source::Accounts;
use primitives::Pubkey;
use primitives::token::{MINT_BYTES, NATIVE_MINT, mint_decimals};
use sys::error::Result;

/// Mints cached within one reply. When the cache is full, it is cleared.
const MINTS_KEPT: usize = 4096;
/// Decimals of wrapped SOL.
const NATIVE_DECIMALS: u8 = 9;

/// Decimals of a mint, and its interest or scale with the time they are computed for.
#[derive(Clone, Copy)]
pub struct MintData(pub(super) SplTokenAdditionalDataV2);

impl MintData {
    /// Decodes a mint; `None` where the data is invalid. Only an interest-bearing or scaled mint
    /// calls `now`. The owner of the account is not checked, as in Agave.
    pub fn of(data: &[u8], now: impl Fn() -> i64) -> Option<Self> {
        let mut mint = SplTokenAdditionalDataV2::with_decimals(mint_decimals(data)?);
        if data.len() > MINT_BYTES {
            let state = StateWithExtensions::<Mint>::unpack(data).ok()?;
            let interest = state.get_extension::<InterestBearingConfig>().ok();
            mint.interest_bearing_config = interest.map(|config| (*config, now()));
            let scale = state.get_extension::<ScaledUiAmountConfig>().ok();
            mint.scaled_ui_amount_config = scale.map(|config| (*config, now()));
        }
        Some(MintData(mint))
    }

    /// Wrapped SOL. Page reads do not look up its mint account.
    pub fn native() -> Self {
        MintData(SplTokenAdditionalDataV2::with_decimals(NATIVE_DECIMALS))
    }
}

/// Looks up the mints of token accounts, each once.
pub struct Mints<'a, A: Accounts> {
    accounts: &'a A,
    is_native_known: bool,
    known: HashMap<Pubkey, Option<MintData>>,
    read_bytes: usize,
}

impl<'a, A: Accounts> Mints<'a, A> {
    /// For reads by address: the native mint is looked up like any other account.
    pub fn by_address(accounts: &'a A) -> Self {
        Mints {
            accounts,
            is_native_known: false,
            known: HashMap::new(),
            read_bytes: 0,
        }
    }

    /// For pages: the native mint has nine decimals, whether or not it is in the store.
    pub fn in_pages(accounts: &'a A) -> Self {
        Mints {
            is_native_known: true,
            ..Mints::by_address(accounts)
        }
    }

    /// Bytes of mint accounts read.
    pub fn read_bytes(&self) -> usize {
        self.read_bytes
    }

    /// The mint at this address; `None` where there is no account or it is not a mint.
    pub fn get(&mut self, mint: &Pubkey) -> Result<Option<MintData>> {
        if self.is_native_known && *mint == NATIVE_MINT {
            return Ok(Some(MintData::native()));
        }
        if let Some(known) = self.known.get(mint) {
            return Ok(*known);
        }
        let found = self.accounts.account(mint)?.and_then(|account| {
            self.read_bytes += account.data.len();
            MintData::of(account.data, || self.accounts.unix_timestamp())
        });
        if self.known.len() == MINTS_KEPT {
            self.known.clear();
        }
        self.known.insert(*mint, found);
        Ok(found)
    }
}

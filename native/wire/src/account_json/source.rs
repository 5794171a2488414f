//! Where jsonParsed finds mints and the time.

use primitives::Pubkey;
use store::AccountRef;
use sys::error::Result;

/// What jsonParsed reads beside the account, at one snapshot.
pub trait Accounts {
    fn account(&self, pubkey: &Pubkey) -> Result<Option<AccountRef<'_>>>;
    /// Seconds since 1970 by the chain's clock.
    fn unix_timestamp(&self) -> i64;
}

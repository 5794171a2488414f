//! One function for each read method. Each writes only the JSON of `result`; the caller adds the
//! envelope.

mod accounts;
mod blocks;
mod common;
mod pages;
mod tokens;

pub use accounts::{
    ADDRESSES_AT_ONCE_MAX, Wanted, account_info, balance, multiple_accounts, stream_account,
    stream_accounts,
};
pub use blocks::{BLOCKHASH_AGE_MAX, blockhash_validity, latest_blockhash};
pub(crate) use common::push_context;
pub use common::{
    Commitment, CompleteReply, Outcome, ReadLimits, ReplySink, StreamedReply, UNCHANGED,
};
pub use pages::{PageView, program_accounts, token_accounts_by_owner};
pub use tokens::{
    scan_largest_accounts, token_account_balance, token_largest_accounts, token_supply,
};

#[cfg(test)]
mod tests;

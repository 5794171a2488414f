//! The validator's own parser and sanitiser, with the limits of mainnet.

use agave_transaction_view::result::{Result, TransactionViewError};
use agave_transaction_view::sanitize::SanitizeConfig;
use agave_transaction_view::transaction_view::{
    SanitizedTransactionView, UnsanitizedTransactionView,
};

/// Bytes of the largest transaction there is, one of version 1. The parser counts offsets in 16 bits.
pub const BYTES_MAX: usize = 4_096;

/// Consensus limits that the parser leaves to its caller.
pub const SANITIZE: SanitizeConfig = SanitizeConfig {
    min_requested_heap_size: 32 * 1024,
    max_requested_heap_size: 256 * 1024,
    // SIMD-0160.
    max_instructions: 64,
    // SIMD-0406.
    max_accounts_per_instruction: 255,
};

/// What is to be known of a transaction that was read to its last byte.
pub type View<'a> = SanitizedTransactionView<&'a [u8]>;
pub type Unsanitized<'a> = UnsanitizedTransactionView<&'a [u8]>;

/// Reads the layout, to the last byte.
pub fn read(bytes: &[u8]) -> Result<Unsanitized<'_>> {
    if bytes.len() > BYTES_MAX {
        return Err(TransactionViewError::ParseError);
    }
    UnsanitizedTransactionView::try_new_unsanitized(bytes)
}

/// Parses and sanitises one whole transaction of any version, without a copy.
pub fn parse(bytes: &[u8]) -> Result<View<'_>> {
    read(bytes)?.sanitize(&SANITIZE)
}

//! Views of parsed transactions, and the limits of mainnet.

use agave_transaction_view::sanitize::SanitizeConfig;
use agave_transaction_view::transaction_view::{
    SanitizedTransactionView, UnsanitizedTransactionView,
};

/// Maximum bytes of a transaction, that of version 1. The parser counts offsets in 16 bits.
pub const BYTES_MAX: usize = 4_096;

/// Accounts of one instruction, by SIMD-0406.
pub const INSTRUCTION_ACCOUNTS_MAX: usize = 255;

/// Consensus limits that the parser leaves to its caller.
pub const SANITIZE: SanitizeConfig = SanitizeConfig {
    min_requested_heap_size: 32 * 1024,
    max_requested_heap_size: 256 * 1024,
    // SIMD-0160.
    max_instructions: 64,
    max_accounts_per_instruction: Some(INSTRUCTION_ACCOUNTS_MAX),
};

/// A transaction that was parsed to its last byte and sanitized.
pub type View<'a> = SanitizedTransactionView<&'a [u8]>;
/// A transaction that was parsed to its last byte.
pub type Unsanitized<'a> = UnsanitizedTransactionView<&'a [u8]>;

//! The validator's own parser and sanitiser, with the limits of mainnet.

use agave_transaction_view::sanitize::SanitizeConfig;
use agave_transaction_view::transaction_view::{
    SanitizedTransactionView, UnsanitizedTransactionView,
};

use super::layout::walk;
use super::refusal::refusal;

/// Bytes of the largest transaction there is, one of version 1. The parser counts offsets in 16
/// bits.
pub const BYTES_MAX: usize = 4_096;

/// Where our words for a refusal lack: no input is known that has none.
pub const UNREADABLE: &str = "not the layout of a transaction";
pub const REFUSED: &str = "refused by the sanitizer";

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
pub fn read(bytes: &[u8]) -> Result<Unsanitized<'_>, String> {
    if bytes.len() > BYTES_MAX {
        return Err(format!("{} bytes, at most {BYTES_MAX}", bytes.len()));
    }
    UnsanitizedTransactionView::try_new_unsanitized(bytes)
        .map_err(|_| walk(bytes).err().unwrap_or_else(|| UNREADABLE.into()))
}

/// Applies the validator's rules to what was read.
pub fn sanitize(view: Unsanitized<'_>) -> Result<View<'_>, String> {
    let bytes = *view.inner_data();
    view.sanitize(&SANITIZE).map_err(|_| {
        // The sanitiser keeps what it refuses: read again, for the words.
        let refused = UnsanitizedTransactionView::try_new_unsanitized(bytes).ok();
        let text = refused.as_ref().and_then(refusal);
        text.unwrap_or_else(|| REFUSED.into())
    })
}

/// Parses and sanitises one whole transaction of any version, without a copy. The failure says why.
pub fn parse(bytes: &[u8]) -> Result<View<'_>, String> {
    sanitize(read(bytes)?)
}

//! The validator's own parser and sanitizer.

use super::layout::walk;
use super::refusal::refusal;
use super::view::{BYTES_MAX, SANITIZE, Unsanitized, View};

/// Fallback reasons. No input with one of them is known.
pub const UNREADABLE: &str = "not the layout of a transaction";
pub const REFUSED: &str = "refused by the sanitizer";

/// Parses the layout. Bytes after its end are an error.
pub fn read(bytes: &[u8]) -> Result<Unsanitized<'_>, String> {
    if bytes.len() > BYTES_MAX {
        return Err(format!("{} bytes, at most {BYTES_MAX}", bytes.len()));
    }
    Unsanitized::try_new_unsanitized(bytes)
        .map_err(|_| walk(bytes).err().unwrap_or_else(|| UNREADABLE.into()))
}

/// Applies the validator's rules.
pub fn sanitize(view: Unsanitized<'_>) -> Result<View<'_>, String> {
    let bytes = *view.inner_data();
    view.sanitize(&SANITIZE).map_err(|_| {
        // The sanitizer consumes the view, so parse again for the reason.
        let refused = Unsanitized::try_new_unsanitized(bytes).ok();
        let text = refused.as_ref().and_then(refusal);
        text.unwrap_or_else(|| REFUSED.into())
    })
}

/// Parses and sanitizes one transaction of any version, without a copy. The error is the reason.
pub fn parse(bytes: &[u8]) -> Result<View<'_>, String> {
    sanitize(read(bytes)?)
}

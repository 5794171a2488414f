//! Canonical base64: each byte sequence has exactly one text, so equal transactions have equal
//! texts.

use base64_simd::STANDARD;

/// Length of the padded text of `bytes` bytes.
pub const fn text_length(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Decodes canonical base64: standard alphabet, padded, unused bits zero. Any other text is `None`.
pub fn decode_canonical(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode_to_vec(text).ok()
}

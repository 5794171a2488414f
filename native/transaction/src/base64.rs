//! Canonical base64: the only text of its bytes, so that equal transactions are equal texts.

use base64_simd::STANDARD;

/// Characters of the padded text of `bytes` bytes.
pub const fn text_length(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Decodes the one canonical text of some bytes: standard alphabet, padded, unused bits zero,
/// nothing else.
pub fn decode_canonical(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode_to_vec(text).ok()
}

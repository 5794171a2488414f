//! Ids of bundles.

use sha2::{Digest, Sha256};

use super::signature::Signature;

/// Maximum base58 characters of a signature.
const SIGNATURE_CHARS_MAX: usize = 88;

/// The base58 text of a signature.
pub fn encode_signature(signature: &Signature) -> String {
    let mut text = [0; SIGNATURE_CHARS_MAX];
    let length = five8::encode_64(signature, &mut text);
    let text = text.get(..usize::from(length)).unwrap_or_default();
    text.iter().copied().map(char::from).collect()
}

/// SHA-256 of the base58 first signatures of the members, joined by commas, in hex.
pub fn bundle_id<T: AsRef<str>>(signatures: &[T]) -> String {
    let mut hash = Sha256::new();
    for (index, signature) in signatures.iter().enumerate() {
        if index > 0 {
            hash.update(b",");
        }
        hash.update(signature.as_ref());
    }
    format!("{:x}", hash.finalize())
}

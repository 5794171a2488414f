//! Checks signatures as the validator does. Node's `crypto` and batch verification accept some that
//! it rejects, so each signature is checked separately, by one predicate.

use ed25519_dalek::{Signature as DalekSignature, VerifyingKey};

use super::view::View;
use primitives::Pubkey;

pub type Signature = [u8; 64];

/// Whether `signature` is a strictly valid one of `key` over `message`.
pub fn verify(key: &Pubkey, message: &[u8], signature: &Signature) -> bool {
    VerifyingKey::from_bytes(key).is_ok_and(|key| {
        key.verify_strict(message, &DalekSignature::from_bytes(signature))
            .is_ok()
    })
}

/// Whether every signer of the message has signed it.
pub fn is_signed(view: &View<'_>) -> bool {
    let message = view.message_data();
    // The sanitizer guarantees as many keys as signatures.
    let mut pairs = view.static_account_keys().iter().zip(view.signatures());
    pairs.all(|(key, signature)| verify(key.as_array(), message, signature.as_array()))
}

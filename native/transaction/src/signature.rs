//! Signatures as the validator checks them. Node's `crypto` accepts some that it rejects, and batch
//! verification accepts some that a single one rejects: each is checked on its own, by one
//! predicate.

use ed25519_dalek::{Signature as DalekSignature, VerifyingKey};

use super::known_keys::to_point;
use super::view::View;
use primitives::Pubkey;

pub type Signature = [u8; 64];

/// Whether `signature` is a strict one of `key` over `message`.
#[inline(never)]
pub fn verify(key: &Pubkey, message: &[u8], signature: &Signature) -> bool {
    VerifyingKey::from_bytes(key).is_ok_and(|key| {
        key.verify_strict(message, &DalekSignature::from_bytes(signature))
            .is_ok()
    })
}

/// The same, with a cache of keys.
#[inline(never)]
pub fn verify_known(key: &Pubkey, message: &[u8], signature: &Signature) -> bool {
    to_point(key).is_some_and(|key| {
        key.verify_strict(message, &DalekSignature::from_bytes(signature))
            .is_ok()
    })
}

/// Whether every signer of the message has signed it.
pub fn is_signed(view: &View<'_>) -> bool {
    let message = view.message_data();
    // The sanitizer made sure that there are as many keys as signatures.
    let mut pairs = view.static_account_keys().iter().zip(view.signatures());
    pairs.all(|(key, signature)| verify_known(key.as_array(), message, signature.as_array()))
}

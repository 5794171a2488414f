//! Checks signatures as the validator does. Node's `crypto` and batch verification accept some that
//! it rejects, so each signature is checked separately, by one predicate.

use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use ed25519_dalek::{Signature as DalekSignature, VerifyingKey};
use sha2::{Digest, Sha512};

use super::view::View;
use primitives::Pubkey;

pub type Signature = [u8; 64];

/// Which signatures the validators of a network accept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SignatureRule {
    /// `verify_strict` of ed25519-dalek 2: the equation without the cofactor.
    #[default]
    Strict,
    /// SIMD-0376: the equation multiplied by the cofactor. Key and R are canonical encodings of
    /// points that are not of small order, and s is canonical, so every strictly valid signature
    /// is valid.
    Cofactored,
}

/// Whether `signature` is valid, by `rule`, for `key` over `message`.
pub fn verify(rule: SignatureRule, key: &Pubkey, message: &[u8], signature: &Signature) -> bool {
    verify_strict(key, message, signature)
        || (rule == SignatureRule::Cofactored
            && verify_cofactored(key, message, signature).unwrap_or(false))
}

fn verify_strict(key: &Pubkey, message: &[u8], signature: &Signature) -> bool {
    VerifyingKey::from_bytes(key).is_ok_and(|key| {
        key.verify_strict(message, &DalekSignature::from_bytes(signature))
            .is_ok()
    })
}

/// Whether [8](sB - kA - R) is the identity; `None` for an encoding that is refused.
fn verify_cofactored(key: &Pubkey, message: &[u8], signature: &Signature) -> Option<bool> {
    let (r, s) = signature.split_first_chunk::<32>()?;
    let s = Scalar::from_canonical_bytes(s.try_into().ok()?).into_option()?;
    let (a, big_r) = (canonical_point(key)?, canonical_point(r)?);
    let hash = Sha512::new().chain_update(r).chain_update(key);
    let hash = hash.chain_update(message).finalize();
    let k = Scalar::from_bytes_mod_order_wide(&hash.into());
    let expected = EdwardsPoint::vartime_double_scalar_mul_basepoint(&k, &-a, &s);
    Some((expected - big_r).mul_by_cofactor().is_identity())
}

/// The point of a canonical encoding, unless its order is small.
fn canonical_point(bytes: &[u8; 32]) -> Option<EdwardsPoint> {
    let point = CompressedEdwardsY(*bytes).decompress()?;
    let is_canonical = point.compress().as_bytes() == bytes;
    (is_canonical && !point.is_small_order()).then_some(point)
}

/// Whether every signer of the message has signed it.
pub fn is_signed(rule: SignatureRule, view: &View<'_>) -> bool {
    let message = view.message_data();
    // The sanitizer guarantees as many keys as signatures.
    let mut pairs = view.static_account_keys().iter().zip(view.signatures());
    pairs.all(|(key, signature)| verify(rule, key.as_array(), message, signature.as_array()))
}

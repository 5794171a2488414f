use curve25519_dalek::constants::EIGHT_TORSION;
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::Scalar;
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha512};

use super::fixtures::json;
use super::*;

fn hex(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

/// The verdict of the crate release that the validator uses.
fn validator_accepts(key: &Pubkey, message: &[u8], signature: &Signature) -> bool {
    let signature = validator_ed25519::Signature::from_bytes(signature);
    validator_ed25519::VerifyingKey::from_bytes(key)
        .is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
}

fn accepts(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    // In a transaction a signature always has 64 bytes.
    let Ok(signature) = signature.try_into() else {
        return false;
    };
    let key = key.try_into().unwrap();
    let is_right = verify(SignatureRule::Strict, key, message, signature);
    assert_eq!(validator_accepts(key, message, signature), is_right);
    is_right
}

fn relaxed_accepts(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let (Ok(key), Ok(signature)) = (key.try_into(), signature.try_into()) else {
        return false;
    };
    let is_right = verify(SignatureRule::Cofactored, key, message, signature);
    assert!(is_right || !accepts(key, message, signature));
    is_right
}

/// The twelve cases of ed25519-speccheck in their order, and whether the strict and the cofactored
/// rule accept them. A is the key, R the first half of a signature, s the second.
const SPECCHECK: [(&str, bool, bool); 12] = [
    ("0: A and R of small order, s is 0", false, false),
    ("1: A of small order", false, false),
    ("2: R of small order", false, false),
    ("3: A and R of mixed order, both equations hold", true, true),
    (
        "4: A and R of mixed order, only the cofactored holds",
        false,
        true,
    ),
    (
        "5: A of mixed order, only the cofactored holds",
        false,
        true,
    ),
    ("6: s exceeds the group order", false, false),
    ("7: s exceeds the group order by far", false, false),
    ("8: R of small order and not canonical", false, false),
    ("9: the same, its bytes reduced in the hash", false, false),
    ("10: A of small order and not canonical", false, false),
    ("11: the same, its bytes reduced in the hash", false, false),
];

#[test]
fn speccheck() {
    let Some(cases) = json("ed25519/speccheck-cases.json") else {
        return;
    };
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), SPECCHECK.len());
    for (case, (name, is_strict, is_cofactored)) in cases.iter().zip(SPECCHECK) {
        let [message, key, signature] =
            ["message", "pub_key", "signature"].map(|part| hex(&case[part]));
        assert_eq!(accepts(&key, &message, &signature), is_strict, "{name}");
        let is_accepted = relaxed_accepts(&key, &message, &signature);
        assert_eq!(is_accepted, is_cofactored, "{name}");
    }
}

/// How many of the vectors a rule accepts. It refuses those with a flag of `refused`.
fn count_cctv(
    accepts: fn(&[u8], &[u8], &[u8]) -> bool,
    refused: &[&str],
) -> Option<(usize, usize)> {
    let vectors = json("ed25519/cctv-ed25519vectors.json")?;
    let vectors = vectors.as_array().unwrap();
    let mut accepted = 0;
    for vector in vectors {
        let message = vector["msg"].as_str().unwrap().as_bytes();
        let is_accepted = accepts(&hex(&vector["key"]), message, &hex(&vector["sig"]));
        let flags = vector["flags"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let is_refused = flags.iter().any(|flag| {
            let flag = flag.as_str().unwrap();
            refused.contains(&flag) || flag.starts_with("non_canonical_")
        });
        assert_eq!(is_accepted, !is_refused, "{vector}");
        accepted += usize::from(is_accepted);
    }
    Some((accepted, vectors.len()))
}

#[test]
fn cctv_vectors() {
    let strict = [
        "low_order_A",
        "low_order_R",
        "low_order_residue",
        "reencoded_k",
    ];
    let relaxed = ["low_order_A", "low_order_R", "reencoded_k"];
    let Some(count) = count_cctv(accepts, &strict) else {
        return;
    };
    assert_eq!(count, (43, 914));
    assert_eq!(count_cctv(relaxed_accepts, &relaxed), Some((106, 914)));
}

#[test]
fn wycheproof_accepts_exactly_the_valid() {
    let Some(file) = json("ed25519/wycheproof-ed25519_test.json") else {
        return;
    };
    let mut count = 0;
    for group in file["testGroups"].as_array().unwrap() {
        let key = hex(&group["publicKey"]["pk"]);
        for test in group["tests"].as_array().unwrap() {
            let [message, signature] = ["msg", "sig"].map(|part| hex(&test[part]));
            let is_valid = test["result"] == "valid";
            assert_eq!(accepts(&key, &message, &signature), is_valid, "{test}");
            assert_eq!(
                relaxed_accepts(&key, &message, &signature),
                is_valid,
                "{test}"
            );
            count += 1;
        }
    }
    assert_eq!(count, 151);
}

#[test]
fn key_that_is_not_a_point_is_invalid() {
    let [message, signature] = [&b"message"[..], &signer(1).sign(b"message").to_bytes()];
    assert!(accepts(&signer_key(1), message, signature));
    assert!(!accepts(&[2; 32], message, signature));
    assert!(!accepts(&signer_key(2), message, signature));
    assert!(!accepts(&signer_key(1), b"messagE", signature));
}

/// Changes to a valid signature, each with its position and value.
#[derive(Debug, Clone, Copy)]
enum Change {
    Nothing,
    Key(usize, u8),
    Message(usize, u8),
    Signature(usize, u8),
    /// s + ℓ: the same scalar, not canonical.
    LargerScalar,
}

/// The order of the group, little-endian.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        Just(Change::Nothing),
        (0..32usize, 1u8..).prop_map(|(at, bits)| Change::Key(at, bits)),
        (0..200usize, 1u8..).prop_map(|(at, bits)| Change::Message(at, bits)),
        (0..64usize, 1u8..).prop_map(|(at, bits)| Change::Signature(at, bits)),
        Just(Change::LargerScalar),
    ]
}

proptest! {
    #[test]
    fn every_verdict_is_the_validators(
        secret: [u8; 32],
        message in prop::collection::vec(any::<u8>(), 200..1_232),
        change in any_change(),
    ) {
        let signer = SigningKey::from_bytes(&secret);
        let mut message = message;
        let mut signature = signer.sign(&message).to_bytes();
        let mut key = signer.verifying_key().to_bytes();
        match change {
            Change::Nothing => {}
            Change::Key(at, bits) => key[at] ^= bits,
            Change::Message(at, bits) => message[at] ^= bits,
            Change::Signature(at, bits) => signature[at] ^= bits,
            Change::LargerScalar => {
                let mut carry = 0;
                for (byte, more) in signature[32..].iter_mut().zip(ORDER) {
                    let sum = u16::from(*byte) + u16::from(more) + carry;
                    *byte = sum as u8;
                    carry = sum >> 8;
                }
            }
        }
        let is_right = accepts(&key, &message, &signature);
        prop_assert_eq!(is_right, matches!(change, Change::Nothing));
        prop_assert_eq!(relaxed_accepts(&key, &message, &signature), is_right);
    }
}

/// A key with a component of order 8, and a signature that fulfils the equation but for it.
fn sign_with_torsion(secret: u64, nonce: u64, message: &[u8]) -> (Pubkey, Signature) {
    let (a, r) = (Scalar::from(secret), Scalar::from(nonce));
    let key = (EdwardsPoint::mul_base(&a) + EIGHT_TORSION[1]).compress();
    let big_r = EdwardsPoint::mul_base(&r).compress();
    let hash = Sha512::new().chain_update(big_r.as_bytes());
    let hash = hash.chain_update(key.as_bytes()).chain_update(message);
    let s = r + Scalar::from_bytes_mod_order_wide(&hash.finalize().into()) * a;
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(big_r.as_bytes());
    signature[32..].copy_from_slice(s.as_bytes());
    (key.to_bytes(), signature)
}

#[test]
fn cofactored_rule_accepts_keys_of_mixed_order() {
    let mut strict = 0;
    for nth in 1..=200 {
        let message = [nth as u8; 40];
        let (key, signature) = sign_with_torsion(nth * 7, nth * 11, &message);
        assert!(relaxed_accepts(&key, &message, &signature));
        assert!(!relaxed_accepts(&key, &message[1..], &signature));
        strict += usize::from(accepts(&key, &message, &signature));
    }
    // Where the hash is a multiple of 8, which one of eight is.
    assert!((5..60).contains(&strict), "{strict}");
}

#[test]
fn rules_of_a_route_decide_which_signatures_are_valid() {
    // The header and the number of keys are before the payer's key.
    let mut unsigned = qualifying(Version::Legacy).bytes();
    let (payer, _) = sign_with_torsion(5, 1, b"");
    unsigned[69..101].copy_from_slice(&payer);
    let message = &unsigned[65..];
    // With a nonce for which the strict equation does not hold.
    let (_, signature) = (1..)
        .map(|nonce| sign_with_torsion(5, nonce, message))
        .find(|(key, signature)| !accepts(key, message, signature))
        .unwrap();
    let mut signed = unsigned.clone();
    signed[1..65].copy_from_slice(&signature);
    for (signature_rule, is_signed) in [
        (SignatureRule::Strict, false),
        (SignatureRule::Cofactored, true),
    ] {
        let rules = Rules {
            signature_rule,
            ..rules()
        };
        let verdict = check_bundle(&[Ok(signed.clone())], &rules);
        assert_eq!(verdict.members[0].is_signed, Some(is_signed));
        let forged = check_bundle(&[Ok(unsigned.clone())], &rules);
        assert_eq!(forged.members[0].is_signed, Some(false));
    }
}

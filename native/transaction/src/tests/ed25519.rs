use proptest::prelude::*;
use serde_json::Value;

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
    let is_right = verify(key, message, signature);
    assert_eq!(validator_accepts(key, message, signature), is_right);
    is_right
}

#[test]
fn speccheck_row() {
    let Some(cases) = json("ed25519/speccheck-cases.json") else {
        return;
    };
    let row: String = (cases.as_array().unwrap().iter())
        .map(|case| {
            let [message, key, signature] =
                ["message", "pub_key", "signature"].map(|part| hex(&case[part]));
            if accepts(&key, &message, &signature) {
                'V'
            } else {
                'X'
            }
        })
        .collect();
    assert_eq!(row, "XXXVXXXXXXXX");
}

#[test]
fn cctv_accepts_43_of_914() {
    const REFUSED: [&str; 4] = [
        "low_order_A",
        "low_order_R",
        "low_order_residue",
        "reencoded_k",
    ];
    let Some(vectors) = json("ed25519/cctv-ed25519vectors.json") else {
        return;
    };
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
            REFUSED.contains(&flag) || flag.starts_with("non_canonical_")
        });
        assert_eq!(is_accepted, !is_refused, "{vector}");
        accepted += usize::from(is_accepted);
    }
    assert_eq!((accepted, vectors.len()), (43, 914));
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
            let is_accepted = accepts(&key, &hex(&test["msg"]), &hex(&test["sig"]));
            assert_eq!(is_accepted, test["result"] == "valid", "{test}");
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
    }
}

use serde_json::Value;

use super::super::signature::verify_known;
use super::fixtures::json;
use super::*;

fn hex(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn accepts(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    // In a transaction a signature has 64 bytes by its place.
    let Ok(signature) = signature.try_into() else {
        return false;
    };
    let key = key.try_into().unwrap();
    let is_right = verify(key, message, signature);
    // First unknown, mostly, and then known.
    for _ in 0..2 {
        assert_eq!(verify_known(key, message, signature), is_right);
    }
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
fn a_key_that_is_no_point_signs_nothing() {
    let [message, signature] = [&b"message"[..], &signer(1).sign(b"message").to_bytes()];
    assert!(accepts(&signer_key(1), message, signature));
    assert!(!accepts(&[2; 32], message, signature));
    assert!(!accepts(&signer_key(2), message, signature));
    assert!(!accepts(&signer_key(1), b"messagE", signature));
}

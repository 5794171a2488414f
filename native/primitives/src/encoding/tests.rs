use proptest::prelude::*;

use super::*;

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Schoolbook base58: slow and simple, used as the reference.
fn encode_plainly(bytes: &[u8]) -> String {
    let mut digits: Vec<u8> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58) as u8);
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let ones = std::iter::repeat_n('1', zeros);
    ones.chain(
        digits
            .iter()
            .rev()
            .map(|digit| char::from(ALPHABET[usize::from(*digit)])),
    )
    .collect()
}

fn base58(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    push_base58(&mut out, bytes).unwrap();
    String::from_utf8(out).unwrap()
}

proptest! {
    #[test]
    fn long_base58_is_that_of_the_reference(
        zeros in 0_usize..40,
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let whole = [vec![0; zeros], bytes].concat();
        let text = encode_plainly(&whole);
        prop_assert_eq!(decode_long_base58(text.as_bytes(), 1_232), Some(whole.clone()));
        prop_assert_eq!(encode_long_base58(&whole), text.as_str());
        if let Some(less) = whole.len().checked_sub(1) {
            prop_assert_eq!(decode_long_base58(text.as_bytes(), less), None);
        }
    }
}

#[test]
fn long_base58_has_a_bound_and_its_own_letters() {
    let largest = encode_plainly(&[255; 1_232]);
    assert_eq!(
        decode_long_base58(largest.as_bytes(), 1_232),
        Some(vec![255; 1_232])
    );
    let million = "z".repeat(1 << 20);
    assert_eq!(decode_long_base58(million.as_bytes(), 1_232), None);
    for wrong in ["0", "O", "I", "l", " 2", "2\n", "2+", "\u{142}", "\0"] {
        assert_eq!(decode_long_base58(wrong.as_bytes(), 1_232), None, "{wrong}");
    }
    assert_eq!(decode_long_base58(b"", 0), Some(Vec::new()));
}

#[test]
fn pubkey_texts() {
    let one = "1".repeat(32);
    let long = "1".repeat(45);
    let bad = |value: &str| format!("pubkeyDecode: {value}");
    let cases: [(&str, &str, String); 11] = [
        ("the system program", &one, "ok".into()),
        (
            "a token program",
            "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
            "ok".into(),
        ),
        ("nothing", "", "pubkeySize".into()),
        ("31 zero bytes", &"1".repeat(31), "pubkeySize".into()),
        ("33 zero bytes", &"1".repeat(33), "pubkeySize".into()),
        (
            "44 characters above 32 bytes",
            &"z".repeat(44),
            "pubkeySize".into(),
        ),
        ("45 characters", &long, "pubkeySize".into()),
        (
            "45 characters that are no base58",
            &"0".repeat(45),
            "pubkeySize".into(),
        ),
        ("a zero", "0", bad("0")),
        (
            "an l in a good key",
            "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5Dl",
            bad("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5Dl"),
        ),
        (
            "22 two-byte characters",
            &"é".repeat(22),
            bad(&"é".repeat(22)),
        ),
    ];
    for (name, text, expected) in cases {
        let result = decode_pubkey(text).map_or_else(|error| error.to_string(), |_| "ok".into());
        assert_eq!(result, expected, "{name}");
    }
}

#[test]
fn decoding_many_pubkeys_reports_the_first_invalid_one() {
    let good = "1".repeat(32);
    assert_eq!(
        decode_pubkeys(&[&good, &good]).unwrap(),
        vec![[0; 32], [0; 32]]
    );
    let error = decode_pubkeys(&[&good, "0", ""]).unwrap_err();
    assert_eq!(error.to_string(), "pubkeyDecode: 0");
}

#[test]
fn memcmp_texts() {
    use BytesEncoding::{Base58, Base64};
    let ok = |count: usize| format!("{count} bytes");
    let cases: [(&str, String, BytesEncoding, String); 12] = [
        ("empty base58", String::new(), Base58, ok(0)),
        ("empty base64", String::new(), Base64, ok(0)),
        (
            "128 bytes base58",
            encode_plainly(&[255; 128]),
            Base58,
            ok(128),
        ),
        (
            "129 bytes base58",
            encode_plainly(&[1; 129]),
            Base58,
            "memcmpTooLarge".into(),
        ),
        (
            "175 ones are 175 bytes",
            "1".repeat(175),
            Base58,
            "memcmpTooLarge".into(),
        ),
        (
            "176 characters that are no base58",
            "0".repeat(176),
            Base58,
            "memcmpTooLarge".into(),
        ),
        (
            "no base58",
            "0".into(),
            Base58,
            "memcmpBytes: base58".into(),
        ),
        (
            "128 bytes base64",
            STANDARD.encode_to_string([7; 128]),
            Base64,
            ok(128),
        ),
        (
            "129 bytes base64",
            STANDARD.encode_to_string([7; 129]),
            Base64,
            "memcmpTooLarge".into(),
        ),
        (
            "173 characters",
            "A".repeat(173),
            Base64,
            "memcmpTooLarge".into(),
        ),
        (
            "no padding",
            "QQ".into(),
            Base64,
            "memcmpBytes: base64".into(),
        ),
        (
            "left-over bits",
            "QR==".into(),
            Base64,
            "memcmpBytes: base64".into(),
        ),
    ];
    for (name, text, encoding, expected) in cases {
        let result = decode_memcmp(&text, encoding)
            .map_or_else(|error| error.to_string(), |bytes| ok(bytes.len()));
        assert_eq!(result, expected, "{name}");
    }
}

#[test]
fn base58_stops_at_128_bytes() {
    for (length, expected) in [
        (0, None),
        (127, None),
        (128, None),
        (129, Some("base58TooLong")),
    ] {
        let mut out = b"kept".to_vec();
        let result = push_base58(&mut out, &vec![255; length]);
        assert_eq!(
            result.err().map(|error| error.name()),
            expected,
            "{length} bytes"
        );
        assert!(out.starts_with(b"kept"));
        assert_eq!(out.len() == 4, expected.is_some() || length == 0);
    }
}

#[test]
fn zstd_of_empty_input_is_a_frame() {
    let mut out = Vec::new();
    push_base64_zstd(&mut out, &[]).unwrap();
    let frame = STANDARD.decode_to_vec(&out).unwrap();
    assert!(!frame.is_empty());
    assert_eq!(
        zstd::decode_all(frame.as_slice()).unwrap(),
        Vec::<u8>::new()
    );
}

#[test]
fn chunks_join_to_one_text() {
    for length in [
        0,
        1,
        CHUNK_BYTES - 1,
        CHUNK_BYTES,
        CHUNK_BYTES + 1,
        3 * CHUNK_BYTES + 2,
    ] {
        let bytes: Vec<u8> = (0..length).map(|index| index as u8).collect();
        let mut joined = Vec::new();
        let mut out = Vec::new();
        let mut spill = |out: &mut Vec<u8>| {
            assert!(out.len() <= CHUNK_BYTES / 3 * 4);
            joined.append(out);
            Ok(())
        };
        push_base64_chunks(&mut out, &bytes, &mut spill).unwrap();
        joined.append(&mut out);
        assert_eq!(
            String::from_utf8(joined).unwrap(),
            STANDARD.encode_to_string(&bytes)
        );
    }
}

proptest! {
    #[test]
    fn pubkey_round_trip(pubkey: [u8; 32], zeros in 0usize..33) {
        let mut pubkey = pubkey;
        pubkey[..zeros].fill(0);
        let text = encode_pubkey(&pubkey);
        prop_assert_eq!(&text, &encode_plainly(&pubkey));
        prop_assert_eq!(decode_pubkey(&text).unwrap(), pubkey);
    }

    #[test]
    fn a_pubkey_text_is_rejected_or_canonical(text in "[1-9A-HJ-NP-Za-km-z]{30,46}") {
        if let Ok(pubkey) = decode_pubkey(&text) {
            prop_assert_eq!(encode_pubkey(&pubkey), text);
        } else {
            prop_assert!(decode_base58(text.as_bytes()).is_none_or(|bytes| bytes.len() != 32));
        }
    }

    #[test]
    fn any_pubkey_text_decodes_without_a_panic(text: String) {
        let _ = decode_pubkey(&text);
    }

    #[test]
    fn base58_equals_the_reference(
        zeros in 0usize..5, bytes in prop::collection::vec(any::<u8>(), 0..124)
    ) {
        let bytes = [vec![0; zeros], bytes].concat();
        let text = base58(&bytes);
        prop_assert_eq!(&text, &encode_plainly(&bytes));
        prop_assert_eq!(decode_base58(text.as_bytes()).unwrap(), bytes);
    }

    #[test]
    fn zstd_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        let mut out = b"x".to_vec();
        push_base64_zstd(&mut out, &bytes).unwrap();
        let frame = STANDARD.decode_to_vec(&out[1..]).unwrap();
        prop_assert_eq!(zstd::decode_all(frame.as_slice()).unwrap(), bytes);
    }
}

//! Formats transaction errors and log lines as JSON.

use solana_transaction_error::TransactionError;

use primitives::encoding::push_base64;
use wire::account_json::push_str;

/// Appends `null` for success, or the error. `error` is the bincode of a TransactionError. An error
/// unknown to this build is written as `{"Unknown":"<base64>"}`, never as success.
pub fn push_error(out: &mut Vec<u8>, error: Option<&[u8]>) {
    let Some(bytes) = error else {
        out.extend_from_slice(b"null");
        return;
    };
    let start = out.len();
    let known = bincode::deserialize::<TransactionError>(bytes);
    if known.is_ok_and(|error| serde_json::to_writer(&mut *out, &error).is_ok()) {
        return;
    }
    out.truncate(start);
    out.extend_from_slice(b"{\"Unknown\":\"");
    push_base64(out, bytes);
    out.extend_from_slice(b"\"}");
}

/// Appends a log line as a JSON string.
pub fn push_line(out: &mut Vec<u8>, line: &[u8]) {
    push_str(out, &String::from_utf8_lossy(line));
}

#[cfg(test)]
mod tests {
    use solana_transaction_error::TransactionError;

    use super::push_error;

    fn shown(error: Option<&[u8]>) -> String {
        let mut out = Vec::new();
        push_error(&mut out, error);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn writes_errors_as_the_validator() {
        let cases = [
            (TransactionError::AccountInUse, r#""AccountInUse""#),
            (
                TransactionError::InsufficientFundsForRent { account_index: 3 },
                r#"{"InsufficientFundsForRent":{"account_index":3}}"#,
            ),
            (
                TransactionError::DuplicateInstruction(4),
                r#"{"DuplicateInstruction":4}"#,
            ),
        ];
        for (error, json) in cases {
            assert_eq!(shown(Some(&bincode::serialize(&error).unwrap())), json);
        }
        assert_eq!(shown(None), "null");
        // Bincode: variant 8, instruction index, variant of its error, code.
        let custom = [8, 0, 0, 0, 2, 25, 0, 0, 0, 0x71, 0x17, 0, 0];
        let json = r#"{"InstructionError":[2,{"Custom":6001}]}"#;
        assert_eq!(shown(Some(&custom)), json);
        let json = r#"{"InstructionError":[0,"InvalidArgument"]}"#;
        assert_eq!(shown(Some(&[8, 0, 0, 0, 0, 1, 0, 0, 0])), json);
    }

    proptest::proptest! {
        /// Of the feed come any bytes; a length in them must not become memory.
        #[test]
        fn any_error_is_json_and_never_success(
            kind in 0..40_u8,
            rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40),
        ) {
            let bytes = [&[kind, 0, 0, 0][..], &rest].concat();
            let json: serde_json::Value = serde_json::from_str(&shown(Some(&bytes))).unwrap();
            proptest::prop_assert!(!json.is_null());
        }
    }

    #[test]
    fn unknown_error_is_not_success() {
        assert_eq!(shown(Some(&[250, 0, 0, 0])), r#"{"Unknown":"+gAAAA=="}"#);
        assert_eq!(shown(Some(&[8])), r#"{"Unknown":"CA=="}"#);
    }
}

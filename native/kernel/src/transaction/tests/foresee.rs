use proptest::prelude::*;

use super::super::foresee::foresee_bundle;

const BYTES_MAX: usize = 1_232;

fn foreseen(body: &str) -> Option<Vec<&str>> {
    let texts = foresee_bundle(body.as_bytes(), 4, BYTES_MAX)?;
    Some(
        texts
            .into_iter()
            .map(|text| std::str::from_utf8(text).unwrap())
            .collect(),
    )
}

#[test]
fn what_looks_like_a_bundle() {
    let longest = "A".repeat(1_644);
    let cases = [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"sendBundle","params":[["AA==","BB=="],{"encoding":"base64"}]}"#,
            Some(vec!["AA==", "BB=="]),
        ),
        (
            r#"{"params" : [ [ "AA==" , "" ] ] , "method":"sendBundle"}"#,
            Some(vec!["AA==", ""]),
        ),
        (
            r#"{"method":"sendBundle","params":[["a","b","c","d"]]}"#,
            Some(vec!["a", "b", "c", "d"]),
        ),
        (
            &format!(r#"{{"method":"sendBundle","params":[["{longest}"]]}}"#),
            Some(vec![longest.as_str()]),
        ),
        // Read as JSON this is another text: what was foreseen is forgotten then.
        (
            r#"{"method":"sendBundle","params":[["\u0041A=="]]}"#,
            Some(vec![r"\u0041A=="]),
        ),
        (
            r#"{"method":"sendBundle","params":[["a","b","c","d","e"]]}"#,
            None,
        ),
        (
            &format!(r#"{{"method":"sendBundle","params":[["{longest}A"]]}}"#),
            None,
        ),
        (r#"{"method":"sendTransaction","params":[["AA=="]]}"#, None),
        (r#"{"method":"sendBundle","params":["AA=="]}"#, None),
        (r#"{"method":"sendBundle","params":[[]]}"#, None),
        (
            r#"{"method":"sendBundle","params":[["AA==" "BB=="]]}"#,
            None,
        ),
        (r#"{"method":"sendBundle","params":[["AA==",]]}"#, None),
        (r#"{"method":"sendBundle","params":[["AA==""#, None),
        (r#"{"method":"sendBundle","params":[["AA=="#, None),
        (r#"{"method":"sendBundle","params""#, None),
        ("", None),
    ];
    for (body, expected) in cases {
        assert_eq!(foreseen(body), expected, "{body}");
    }
}

proptest! {
    /// Every body whose bundle is written without escapes is foreseen, as JSON has it.
    #[test]
    fn is_what_json_says(
        texts in prop::collection::vec("[A-Za-z0-9+/=]{0,80}", 1..5),
        is_pretty in any::<bool>(),
        options in any::<bool>(),
    ) {
        let mut params = vec![serde_json::json!(texts)];
        if options {
            params.push(serde_json::json!({ "encoding": "base64" }));
        }
        let body = serde_json::json!({ "jsonrpc": "2.0", "id": 7, "method": "sendBundle", "params": params });
        let body = if is_pretty { format!("{body:#}") } else { body.to_string() };
        prop_assert_eq!(foreseen(&body), Some(texts.iter().map(String::as_str).collect()));
    }

    /// Whatever comes: no panic, and nothing over the bounds.
    #[test]
    fn any_bytes(pieces in prop::collection::vec(prop_oneof![
        prop::sample::select(vec![
            r#""sendBundle""#, r#""params""#, ":", "[", "[[", "\"", "\",\"", "]", " ", "A", "AA==", "\\", "\u{7f}é",
        ]).prop_map(|piece| piece.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
    ], 0..60), count_max in 0usize..6, bytes_max in 0usize..40) {
        let body = pieces.concat();
        if let Some(texts) = foresee_bundle(&body, count_max, bytes_max) {
            prop_assert!(!texts.is_empty() && texts.len() <= count_max);
            for text in texts {
                prop_assert!(text.len() <= bytes_max.div_ceil(3) * 4 && !text.contains(&b'"'));
            }
        }
    }
}

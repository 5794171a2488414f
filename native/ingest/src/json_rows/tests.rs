use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const LIMITS: JsonLimits = JsonLimits {
    row_bytes_max: 1_000,
    envelope_bytes_max: 1_000,
};

/// Returns rows, final envelope and the envelope at the begin of the rows, for input fed in chunks.
fn cut(text: &[u8], chunk: usize) -> Result<(Vec<Value>, Value, Option<Value>)> {
    let mut rows = JsonRows::new(LIMITS);
    let (mut found, mut first_envelope) = (Vec::new(), None);
    for bytes in text.chunks(chunk.max(1)) {
        rows.feed(bytes, &mut |part| {
            let parse = |bytes| serde_json::from_slice(bytes).map_err(|_| wrong("is no JSON"));
            match part {
                Part::Begin(envelope) => first_envelope = Some(parse(envelope)?),
                Part::Row(row) => found.push(parse(row)?),
            }
            Ok(())
        })?;
    }
    let envelope = serde_json::from_slice(&rows.end()?).map_err(|_| wrong("is no JSON"))?;
    Ok((found, envelope, first_envelope))
}

#[test]
fn rows_are_found_in_each_form_of_an_answer() {
    let row =
        json!({"pubkey": "a", "account": {"data": ["[]{}\"\\", "base64"], "value": [[1], 2]}});
    let rows = json!([row, null, {"accounts": []}]);
    for (name, text, envelope) in [
        (
            "plain",
            json!({"id": 1, "result": rows}),
            json!({"id": 1, "result": []}),
        ),
        (
            "with a context",
            json!({"result": {"context": {"slot": 5, "value": [1]}, "value": rows}}),
            json!({"result": {"context": {"slot": 5, "value": [1]}, "value": []}}),
        ),
        (
            "paged",
            json!({"result": {"accounts": rows, "paginationKey": "k"}}),
            json!({"result": {"accounts": [], "paginationKey": "k"}}),
        ),
        (
            "paged with a context",
            json!({"result": {"context": {}, "value": {"accounts": rows, "count": 3}}}),
            json!({"result": {"context": {}, "value": {"accounts": [], "count": 3}}}),
        ),
    ] {
        for text in [
            text.to_string(),
            serde_json::to_string_pretty(&text).unwrap(),
        ] {
            for chunk in [1, 2, 3, 7, 10_000] {
                let (found, left, first_envelope) = cut(text.as_bytes(), chunk).unwrap();
                assert_eq!(json!(found), rows, "{name}");
                assert_eq!(left, envelope, "{name}");
                assert!(first_envelope.is_some(), "{name}");
            }
        }
    }
}

#[test]
fn lists_elsewhere_are_no_rows() {
    for text in [
        json!({"error": {"code": 1, "data": {"accounts": [1]}, "value": [2]}}),
        json!({"result": {"other": [1], "context": {"accounts": [2]}}}),
        json!({"value": [1], "accounts": [2], "params": {"result": [3]}}),
        json!([{"result": [1]}]),
        json!({"result": 7}),
    ] {
        let (found, left, first_envelope) = cut(text.to_string().as_bytes(), 4).unwrap();
        assert_eq!((found, left, first_envelope), (vec![], text, None));
    }
}

#[test]
fn text_that_is_not_an_answer_fails() {
    for (text, reason) in [
        ("", "is cut off"),
        ("{\"result\":[1,2", "is cut off"),
        ("{\"result\":[1,]}", "is no JSON"),
        ("{\"result\":[,1]}", "is no JSON"),
        ("{\"result\":[1 2]}", "is no JSON"),
        ("{\"result\":[{]}", "is cut off"),
        ("}", "is no JSON"),
        ("<html>", "is no JSON"),
        (
            "{\"result\":[1],\"result\":[2]}",
            "holds two lists of accounts",
        ),
    ] {
        let error = cut(text.as_bytes(), 3).unwrap_err();
        assert_eq!(error.detail(), format!("the answer {reason}"), "{text}");
    }
    let deep = "[".repeat(200);
    assert_eq!(
        cut(deep.as_bytes(), 9).unwrap_err().detail(),
        "the answer is nested too deeply"
    );
}

#[test]
fn rows_and_envelope_are_bounded_and_the_number_of_rows_is_not() {
    let rows: Vec<_> = (0..5_000).map(|i| json!({"n": i})).collect();
    let (found, ..) = cut(json!({ "result": rows }).to_string().as_bytes(), 100).unwrap();
    assert_eq!(found.len(), 5_000);
    let long = "x".repeat(2_000);
    let error = cut(json!({"result": [long]}).to_string().as_bytes(), 64).unwrap_err();
    assert_eq!(
        error.detail(),
        "the answer has over 1000 bytes for one account"
    );
    let error = cut(json!({"error": long}).to_string().as_bytes(), 64).unwrap_err();
    assert_eq!(
        error.detail(),
        "the answer has over 1000 bytes for what surrounds the accounts"
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<u64>().prop_map(Value::from),
        "[\\[\\]{}\",:\\\\a-z\u{e9} ]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop_oneof![
            Just("result".to_string()),
            Just("value".to_string()),
            Just("accounts".to_string()),
            "[a-z\"\\\\]{0,6}",
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(key, inner, 0..4)
                .prop_map(|map| Value::from(serde_json::Map::from_iter(map))),
        ]
    })
}

proptest! {
    #[test]
    fn any_rows_are_returned_unchanged(
        rows in proptest::collection::vec(any_json(), 0..6), chunk in 1_usize..40,
    ) {
        let text = json!({"jsonrpc": "2.0", "result": {"context": {"slot": 1}, "value": rows}});
        let (found, ..) = cut(text.to_string().as_bytes(), chunk).unwrap();
        prop_assert_eq!(found, rows);
    }

    #[test]
    fn random_text_neither_panics_nor_passes_unless_it_is_json(
        text in "[\\[\\]{}\",:\\\\a-z0-9 ]{0,60}", chunk in 1_usize..9,
    ) {
        let is_json = serde_json::from_str::<Value>(&text).is_ok();
        if cut(text.as_bytes(), chunk).is_ok() {
            prop_assert!(is_json, "{}", text);
        }
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = cut(&bytes, 5);
    }
}

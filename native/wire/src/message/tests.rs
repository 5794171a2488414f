use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use primitives::encoding::encode_pubkey;
use sys::error::Error;

const LIMITS: Limits = Limits {
    calls_max: 3,
    nesting_max: 8,
    text_bytes_max: 200,
};

/// Lists with their errors as texts.
fn lists_of(packed: &Packed) -> Vec<Result<Vec<[u8; 32]>, String>> {
    let lists = packed.lists.iter();
    lists
        .map(|list| list.as_ref().cloned().map_err(Error::to_string))
        .collect()
}

fn packed(text: &str) -> Packed {
    pack(text.as_bytes(), &LIMITS).unwrap()
}

fn text(text: &str) -> String {
    String::from_utf8(packed(text).text).unwrap()
}

#[test]
fn takes_the_addresses_of_a_call() {
    let keys: Vec<[u8; 32]> = (0..100).map(|nth| [nth; 32]).collect();
    let addresses: Vec<String> = keys.iter().map(encode_pubkey).collect();
    let call = json!({"id": 1, "params": [addresses, {"encoding": "base64"}]}).to_string();
    let packed = packed(&call);
    assert_eq!(
        String::from_utf8(packed.text.clone()).unwrap(),
        r##"{"id":1,"params":[["#0"],{"encoding":"base64"}]}"##
    );
    assert_eq!(lists_of(&packed), [Ok(keys)]);
}

#[test]
fn takes_the_named_lists_in_maps() {
    let (one, other) = (encode_pubkey(&[1; 32]), encode_pubkey(&[2; 32]));
    let positional = format!(
        r#"{{"params":[{{"vote":false,"accountInclude":["{one}","{other}"],"x":["{one}"]}},{{"include":["{one}"]}}]}}"#
    );
    let found = packed(&positional);
    assert_eq!(lists_of(&found), [Ok(vec![[1; 32], [2; 32]])]);
    assert_eq!(
        String::from_utf8(found.text).unwrap(),
        format!(
            r##"{{"params":[{{"vote":false,"accountInclude":["#0"],"x":["{one}"]}},{{"include":["{one}"]}}]}}"##
        )
    );
    // Whatever its members are called: their text is the client's.
    let named = format!(
        r#"{{"params":{{"filter":{{"accounts":{{"include":[],"exclud\u0065":["{one}"],"required":"{one}"}}}}}}}}"#
    );
    let found = packed(&named);
    assert_eq!(lists_of(&found), [Ok(vec![]), Ok(vec![[1; 32]])]);
    let invalid = packed(r#"{"params":[{"exclude":["x",5]}]}"#);
    assert_eq!(
        String::from_utf8(invalid.text).unwrap(),
        r#"{"params":[{"exclude":[5]}]}"#
    );
}

#[test]
fn takes_the_lists_of_a_batch_in_order() {
    let key = encode_pubkey(&[1; 32]);
    let batch = format!(r#" [ {{"params":[["{key}"]]}} , 7, {{"a":[[ ]],"b":"[["}} ] "#);
    let packed = packed(&batch);
    assert_eq!(
        String::from_utf8(packed.text.clone()).unwrap(),
        r##" [ {"params":[["#0"]]} , 7, {"a":[["#1"]],"b":"[["} ] "##
    );
    assert_eq!(lists_of(&packed), [Ok(vec![[1; 32]]), Ok(vec![])]);
    let elements: Vec<&str> = packed.elements.iter().map(|&(a, b)| &batch[a..b]).collect();
    let first = format!(r#"{{"params":[["{key}"]]}}"#);
    assert_eq!(elements, [first.as_str(), "7", r#"{"a":[[ ]],"b":"[["}"#]);
}

#[test]
fn keeps_the_first_element_that_is_no_text() {
    assert_eq!(
        text(r##"{"p":[["a",{"b":[1]},2,"#0"]]}"##),
        r#"{"p":[[{"b":[1]}]]}"#
    );
    // A text of the client never looks like a marker.
    assert_eq!(text(r##"{"p":[["#1"]]}"##), r##"{"p":[["#0"]]}"##);
    assert_eq!(text(r##"{"p":["#0",["#0"]]}"##), r##"{"p":["#0",["#0"]]}"##);
}

#[test]
fn reports_the_first_invalid_address() {
    let key = encode_pubkey(&[1; 32]);
    let lists = |list: &str| lists_of(&packed(&format!(r#"{{"p":[[{list}]]}}"#)));
    assert_eq!(
        lists(&format!(r#""{key}","0","""#)),
        [Err("pubkeyDecode: 0".into())]
    );
    assert_eq!(lists(r#""""#), [Err("pubkeySize".into())]);
    assert_eq!(lists(r#""\u0031\n""#), [Err("pubkeyDecode: 1\n".into())]);
    // Escapes are decoded.
    let escaped = key.replacen(
        key.get(..1).unwrap(),
        &format!("\\u{:04x}", key.as_bytes()[0]),
        1,
    );
    assert_eq!(lists(&format!(r#""{escaped}""#)), [Ok(vec![[1; 32]])]);
}

#[test]
fn refuses_what_is_over_a_bound() {
    let refusal = |text: &str| pack(text.as_bytes(), &LIMITS).map(drop).unwrap_err();
    assert_eq!(refusal("[{},{},{},{}]"), Refusal::BatchTooLong);
    assert_eq!(
        refusal(&format!("{{\"a\":{}}}", "1".repeat(200))),
        Refusal::MessageTooLong
    );
    assert_eq!(
        refusal(&format!("{{\"a\":[[{}]]}}", "1".repeat(200))),
        Refusal::MessageTooLong
    );
    assert_eq!(
        refusal(&format!("{{\"a\":{}", "[".repeat(9))),
        Refusal::ParseError
    );
    let broken = [
        "",
        "{",
        "{\"a\"}",
        "{\"a\":[[\"",
        "{\"a\":[[\"a\"",
        "[{}",
        "{}{}",
        "{\"a\":[[\"a\"\"b\"]]}",
    ];
    for text in broken {
        assert_eq!(refusal(text), Refusal::ParseError, "{text}");
    }
    assert_eq!(
        pack(b"{\"a\":\"\xff\"}", &LIMITS).map(drop),
        Err(Refusal::ParseError)
    );
}

/// What remains of a message where its lists are put back.
fn unpacked(packed: &Packed) -> Option<Value> {
    let mut value: Value = serde_json::from_slice(&packed.text).ok()?;
    let first = value.pointer_mut("/p/0")?;
    if first.get(0).and_then(Value::as_str) == Some("#0") {
        let keys = packed.lists.first()?.as_ref().ok()?;
        *first = keys.iter().map(encode_pubkey).collect();
    }
    Some(value)
}

proptest! {
    #[test]
    fn every_call_can_be_put_back(
        keys in prop::collection::vec(any::<[u8; 32]>(), 0..5),
        rest in prop::collection::vec(prop_oneof![
            any::<u8>().prop_map(|number| json!(number)),
            "[ -~\\n\"\\\\]{0,9}".prop_map(|text| json!({"t": [text]})),
        ], 0..4),
    ) {
        let list: Vec<String> = keys.iter().map(encode_pubkey).collect();
        let params = std::iter::once(json!(list)).chain(rest).collect::<Vec<_>>();
        let call = json!({"id": 1, "p": params});
        let limits = Limits { text_bytes_max: 1000, ..LIMITS };
        let packed = pack(serde_json::to_string_pretty(&call).unwrap().as_bytes(), &limits).unwrap();
        prop_assert_eq!(unpacked(&packed), Some(call));
    }

    /// A filter in either form, among members and values that are none.
    #[test]
    fn every_filter_can_be_put_back(
        keys in prop::collection::vec(any::<[u8; 32]>(), 0..4),
        name in "(include|required|accountExclude|other|id)",
        is_named in any::<bool>(),
        beside in "[ -~\\n\"\\\\]{0,9}",
    ) {
        let list: Vec<String> = keys.iter().map(encode_pubkey).collect();
        let filter = json!({"t": [beside], name.clone(): list, "u": {"v": null}});
        let params = if is_named { json!({"filter": {"accounts": filter}}) } else { json!([filter, {"t": []}]) };
        let call = json!({"id": {"include": 1}, "params": params});
        let limits = Limits { text_bytes_max: 1000, ..LIMITS };
        let packed = pack(call.to_string().as_bytes(), &limits).unwrap();
        let mut back: Value = serde_json::from_slice(&packed.text).unwrap();
        let at = if is_named { "/params/filter/accounts" } else { "/params/0" };
        prop_assert_eq!(packed.lists.len(), usize::from(name != "other" && name != "id"));
        if let Some(list) = packed.lists.first() {
            let keys: Value = list.as_ref().unwrap().iter().map(encode_pubkey).collect();
            back.pointer_mut(at).unwrap()[&name] = keys;
        }
        prop_assert_eq!(back, call);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = pack(&bytes, &LIMITS);
    }

    /// What is accepted is the same call once its lists are put back.
    #[test]
    fn a_changed_call_is_refused_or_put_back(
        keys in prop::collection::vec(any::<[u8; 32]>(), 1..3),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let list: Vec<String> = keys.iter().map(encode_pubkey).collect();
        let mut bytes = json!({"id": 1, "p": [list, {"t": ["x"]}]}).to_string().into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let parsed = serde_json::from_slice::<Value>(&bytes).ok();
        if let (Ok(packed), Some(parsed)) = (pack(&bytes, &LIMITS), parsed)
            && let Some(back) = unpacked(&packed)
        {
            prop_assert_eq!(back, parsed);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "([\\[\\]{}\",:a0\\\\ ]|\"include\":|\\{\"a\":){0,60}") {
        let _ = pack(text.as_bytes(), &LIMITS);
    }
}

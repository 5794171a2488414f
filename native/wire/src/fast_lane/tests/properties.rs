use proptest::prelude::*;

use super::*;

fn any_id() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        "[ -~]{0,9}".prop_map(Value::from),
        "[ -~é€]{1,9}".prop_map(Value::from),
        Just(Value::Null)
    ]
}

fn any_options() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec!["base64", "base58", "base64+zstd", "jsonParsed", "hex"]);
    let number = prop_oneof![0u64..200, Just(u64::MAX)];
    let slice = prop::option::of((number.clone(), number));
    (
        prop::option::of(name),
        slice,
        prop::option::of(prop_oneof![0u64..50, any::<u64>()]),
        prop::option::of(prop_oneof![40u64..46, any::<u64>()]),
        any::<u8>(),
    )
        .prop_map(|(encoding, slice, slot, since, bits)| {
            let mut options = json!({});
            if bits & 3 == 2 {
                options["changedSinceSlot"] = json!(since);
            }
            let slice = slice.map(|(offset, length)| json!({"offset": offset, "length": length}));
            if bits & 3 != 0 {
                options["encoding"] = json!(encoding);
            }
            if bits & 12 == 4 {
                options["dataSlice"] = json!(slice);
            }
            if bits & 16 != 0 {
                let names = ["confirmed", "processed", "finalized", "max"];
                options["commitment"] = json!(names[usize::from(bits >> 6)]);
            }
            if bits & 32 != 0 {
                options["minContextSlot"] = json!(slot);
            }
            if bits == 255 { Value::Null } else { options }
        })
}

fn any_request() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        encode_pubkey(&HOLDER),
        encode_pubkey(&MINT),
        encode_pubkey(&[0; 32]),
        "bad".to_string(),
    ]);
    let method = prop::sample::select(vec![
        "getAccountInfo",
        "getMultipleAccounts",
        "getLatestBlockhash",
        "getTokenAccountBalance",
        "getTokenSupply",
        "getTokenLargestAccounts",
    ]);
    let keys = prop::collection::vec(key, 1..4);
    (any_id(), method, keys, prop::option::of(any_options())).prop_map(
        |(id, method, keys, options)| {
            let mut params = match method {
                "getLatestBlockhash" => vec![],
                "getMultipleAccounts" => vec![json!(keys)],
                _ => vec![json!(keys[0])],
            };
            params.extend(options);
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        },
    )
}

#[derive(Debug, Clone)]
enum Edit {
    Replace(u8),
    Insert(u8),
    Remove,
    Repeat(usize),
}

fn any_edit() -> impl Strategy<Value = (prop::sample::Index, Edit)> {
    let byte = || {
        prop_oneof![
            prop::sample::select(b"{}[]\",:0-1.eE+\\nul \t".to_vec()),
            any::<u8>()
        ]
    };
    let edit = prop_oneof![
        byte().prop_map(Edit::Replace),
        byte().prop_map(Edit::Insert),
        Just(Edit::Remove),
        (1usize..40).prop_map(Edit::Repeat),
    ];
    (any::<prop::sample::Index>(), edit)
}

fn edited(mut text: Vec<u8>, edits: &[(prop::sample::Index, Edit)]) -> Vec<u8> {
    for (at, edit) in edits {
        let at = at
            .index(text.len().max(1))
            .min(text.len().saturating_sub(1));
        match edit {
            _ if text.is_empty() => {}
            Edit::Replace(byte) => text[at] = *byte,
            Edit::Insert(byte) => text.insert(at, *byte),
            Edit::Remove => drop(text.remove(at)),
            Edit::Repeat(length) => {
                let chunk = text[at..text.len().min(at + length)].to_vec();
                text.splice(at..at, chunk);
            }
        }
    }
    text
}

/// Where the fast lane answers, the general path answers the same, and the id is the client's
/// token.
fn check(store: &Store, body: &[u8]) {
    let Some(reply) = answered(store, body) else {
        return;
    };
    let text = String::from_utf8_lossy(body);
    let request = match serde_json::from_slice::<Value>(body) {
        Ok(request) => request,
        // Valid JSON with a number that a double cannot hold: the id is echoed unchanged.
        Err(error) if error.to_string().starts_with("number out of range") => return,
        Err(error) => panic!("answered what is no JSON, {error}: {text}"),
    };
    let expected = general(store, body);
    let expected = expected.unwrap_or_else(|| panic!("the general path does not answer: {text}"));
    let (result, id) = reply.rsplit_once(",\"id\":").unwrap();
    assert_eq!(
        result,
        expected.rsplit_once(",\"id\":").unwrap().0,
        "{text}"
    );
    // Parse both with serde_json, which reads a long number a bit off and writes it differently.
    let id = id.strip_suffix('}').unwrap();
    assert!(text.contains(id), "{id} in {text}");
    assert_eq!(
        serde_json::from_str::<Value>(id).unwrap(),
        request["id"],
        "{text}"
    );
}

#[test]
fn valid_and_corrupted_requests() {
    let (_dir, store) = open();
    // A tenth of the requests is recognised.
    let config = ProptestConfig::with_cases(8000);
    let cases = (any_request(), prop::collection::vec(any_edit(), 0..3));
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let counted = std::cell::Cell::new(0);
    runner
        .run(&cases, |(request, edits)| {
            let body = edited(request.to_string().into_bytes(), &edits);
            check(&store, &body);
            counted.set(counted.get() + usize::from(answered(&store, &body).is_some()));
            Ok(())
        })
        .unwrap();
    assert!(
        counted.get() > 400,
        "only {} were recognised: the test lost its point",
        counted.get()
    );
}

#[test]
fn any_bytes_are_declined_or_answered_correctly() {
    let (_dir, store) = open();
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "[{}\\[\\]\",:a-z0-9 ]{0,80}".prop_map(String::into_bytes),
    ];
    proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(4000))
        .run(&bytes, |body| {
            check(&store, &body);
            Ok(())
        })
        .unwrap();
}

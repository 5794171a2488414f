use super::*;

/// A body with `KEY`, `MINT` and `LARGE` replaced.
fn body(text: &str) -> String {
    let large = encode_pubkey(&LARGE);
    text.replace("KEY", &encode_pubkey(&HOLDER))
        .replace("MINT", &encode_pubkey(&MINT))
        .replace("LARGE", &large)
}

#[test]
fn answers_equal_the_ordinary_path() {
    let (_dir, store) = open();
    let many = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"getMultipleAccounts","params":[[{}]]}}"#,
        [r#""KEY""#; 128].join(",")
    );
    let cases = [
        r#"{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["KEY"]}"#,
        r#"{"params":["KEY",null],"method":"getAccountInfo","id":"a-b","jsonrpc":"2.0"}"#,
        " {\t\"jsonrpc\" : \"2.0\" ,\r\n\"id\" : null , \"method\" : \"getAccountInfo\" , \"params\" : [ \"KEY\" , { } ] } \n",
        r#"{"jsonrpc":"2.0","id":-1.5e+3,"method":"getAccountInfo","params":["KEY",{"encoding":"base58","dataSlice":{"offset":32,"length":64}}]}"#,
        r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"getAccountInfo","params":["KEY",{"encoding":"jsonParsed","commitment":"none such","minContextSlot":9e99}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["KEY",{"encoding":"base64+zstd","dataSlice":{"length":0,"offset":9007199254740991}}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["KEY",{"encoding":null,"dataSlice":null,"commitment":null,"minContextSlot":null}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["11111111111111111111111111111111"]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["LARGE",{"dataSlice":{"offset":0,"length":9}}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getMultipleAccounts","params":[[]]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getMultipleAccounts","params":[["KEY","MINT","KEY","11111111111111111111111111111111"],{"encoding":"jsonParsed"}]}"#,
        &many,
        r#"{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["LARGE",{"changedSinceSlot":42}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["KEY",{"encoding":"base64+zstd","changedSinceSlot":41}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getMultipleAccounts","params":[["KEY","MINT"],{"changedSinceSlot":43}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getTokenAccountBalance","params":["KEY",{"changedSinceSlot":42}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getTokenSupply","params":["MINT",{"changedSinceSlot":41}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getTokenLargestAccounts","params":["MINT",{"changedSinceSlot":null}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[{"commitment":"finalized"}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[{"commitment":"confirmed"}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[{"commitment":"processed","minContextSlot":1}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[{"minContextSlot":42}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[{"minContextSlot":0}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[{"minContextSlot":null}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[{"minContextSlot":44,"commitment":"confirmed"}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[{"commitment":"max"}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[{"commitment":null}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getTokenAccountBalance","params":["KEY"]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getTokenSupply","params":["MINT",{"commitment":"confirmed"}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"getTokenLargestAccounts","params":["MINT",{}]}"#,
    ];
    for text in cases {
        let body = body(text);
        let reply = answered(&store, body.as_bytes());
        assert!(reply.is_some(), "declined: {text}");
        // serde_json reformats such numbers; the reply must keep the raw token.
        let expected = general(&store, body.replace("-1.5e+3", "\"?\"").as_bytes()).unwrap();
        assert_eq!(
            reply.unwrap(),
            expected.replace("\"?\"", "-1.5e+3"),
            "{text}"
        );
    }
}

#[test]
fn declines_unrecognised_requests() {
    let (_dir, store) = open();
    let many = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"getMultipleAccounts","params":[[{}]]}}"#,
        [r#""KEY""#; 129].join(",")
    );
    let info = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":{params}}}"#)
    };
    let with_id = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"getAccountInfo","params":["KEY"]}}"#)
    };
    let of = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    };
    let good = info(r#"["KEY"]"#);
    let cases: Vec<(&str, String)> = vec![
        ("nothing", String::new()),
        ("a batch", format!("[{good}]")),
        ("trailing bytes", format!("{good}x")),
        ("two bodies", format!("{good}{good}")),
        ("a byte-order mark", format!("\u{feff}{good}")),
        ("a cut body", good[..good.len() - 1].to_string()),
        (
            "a notification",
            r#"{"jsonrpc":"2.0","method":"getAccountInfo","params":["KEY"]}"#.into(),
        ),
        (
            "no version",
            r#"{"id":1,"method":"getAccountInfo","params":["KEY"]}"#.into(),
        ),
        ("another version", good.replace("2.0", "1.0")),
        (
            "no method",
            r#"{"jsonrpc":"2.0","id":1,"params":["KEY"]}"#.into(),
        ),
        (
            "an unknown member",
            good.replace("\"id\"", "\"x\":1,\"id\""),
        ),
        (
            "a member twice",
            good.replace("\"id\":1", "\"id\":1,\"id\":1"),
        ),
        ("a trailing comma", good.replace("\"]", "\",]")),
        ("a leading comma", good.replace("{\"jsonrpc", "{,\"jsonrpc")),
        (
            "an escape",
            good.replace("getAccountInfo", "getAccountI\\u006efo"),
        ),
        ("an id that is not ASCII", with_id("\"é\"")),
        ("negative zero", with_id("-0")),
        ("a leading zero", with_id("01")),
        ("a plus", with_id("+1")),
        ("a bare point", with_id("1.")),
        ("a bare exponent", with_id("1e")),
        ("a bare minus", with_id("-")),
        ("a boolean id", with_id("true")),
        ("an object id", with_id("{}")),
        ("an id with an escape", with_id(r#""\n""#)),
        ("an id with a control character", with_id("\"\t\"")),
        ("a bad literal", with_id("nul")),
        (
            "another method",
            good.replace("getAccountInfo", "getBalance"),
        ),
        ("no parameters", info("[]")),
        ("parameters null", info("null")),
        ("parameters by name", info(r#"{"a":"KEY"}"#)),
        ("a third parameter", info(r#"["KEY",{},1]"#)),
        ("a number for a key", info("[5]")),
        ("a bad key", info(r#"["0"]"#)),
        ("a short key", info(r#"["11"]"#)),
        ("options as a string", info(r#"["KEY","base64"]"#)),
        ("an unknown option", info(r#"["KEY",{"x":1}]"#)),
        (
            "an unknown encoding",
            info(r#"["KEY",{"encoding":"binary"}]"#),
        ),
        (
            "an option twice",
            info(r#"["KEY",{"encoding":null,"encoding":"base58"}]"#),
        ),
        (
            "a commitment twice",
            info(r#"["KEY",{"commitment":null,"commitment":"x"}]"#),
        ),
        (
            "a slot as a string",
            info(r#"["KEY",{"minContextSlot":"1"}]"#),
        ),
        (
            "half a slice",
            info(r#"["KEY",{"dataSlice":{"offset":1}}]"#),
        ),
        (
            "a negative offset",
            info(r#"["KEY",{"dataSlice":{"offset":-1,"length":1}}]"#),
        ),
        (
            "an offset that is no integer",
            info(r#"["KEY",{"dataSlice":{"offset":1.0,"length":1}}]"#),
        ),
        (
            "an offset over 2^53",
            info(r#"["KEY",{"dataSlice":{"offset":9007199254740992,"length":1}}]"#),
        ),
        (
            "base58 over 128 bytes",
            info(r#"["KEY",{"encoding":"base58"}]"#),
        ),
        ("a large account", info(r#"["LARGE"]"#)),
        ("a list for one", info(r#"[["KEY"]]"#)),
        ("one for a list", of("getMultipleAccounts", r#"["KEY"]"#)),
        (
            "a bad one of many",
            of("getMultipleAccounts", r#"[["KEY","0"]]"#),
        ),
        (
            "a number among many",
            of("getMultipleAccounts", r#"[["KEY",1]]"#),
        ),
        ("129 addresses", many),
        (
            "an address with an escape",
            of("getMultipleAccounts", r#"[["KEY\u0031"]]"#),
        ),
        (
            "an address with an escaped quote",
            of("getMultipleAccounts", r#"[["\"KEY"]]"#),
        ),
        (
            "an address with a control character",
            of("getMultipleAccounts", "[[\"KEY\t\"]]"),
        ),
        (
            "an address that does not end",
            of("getMultipleAccounts", r#"[["KEY]]"#),
        ),
        ("an empty address", of("getMultipleAccounts", r#"[[""]]"#)),
        (
            "a hash of something",
            of("getLatestBlockhash", r#"["KEY"]"#),
        ),
        (
            "a balance of a mint",
            of("getTokenAccountBalance", r#"["MINT"]"#),
        ),
        ("a supply of an account", of("getTokenSupply", r#"["KEY"]"#)),
        (
            "holders of nothing",
            of(
                "getTokenLargestAccounts",
                r#"["11111111111111111111111111111111"]"#,
            ),
        ),
        (
            "an encoding where none is",
            of("getTokenSupply", r#"["MINT",{"encoding":"base64"}]"#),
        ),
    ];
    for (name, text) in cases {
        assert_eq!(answered(&store, body(&text).as_bytes()), None, "{name}");
    }
    let mut spoilt = body(&with_id(r#""?""#)).into_bytes();
    let at = spoilt.iter().position(|byte| *byte == b'?').unwrap();
    spoilt[at] = 0xFF;
    assert_eq!(answered(&store, &spoilt), None, "an id that is no UTF-8");
}

#[test]
fn the_commitment_selects_the_block_of_a_blockhash() {
    let (_dir, store) = open();
    let slot_of = |params: &str| {
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":PARAMS}"#;
        let reply = answered(&store, text.replace("PARAMS", params).as_bytes()).unwrap();
        let reply: Value = serde_json::from_str(&reply).unwrap();
        reply["result"]["context"]["slot"].as_u64()
    };
    for params in [
        "[]",
        "[{}]",
        r#"[{"commitment":"finalized"}]"#,
        r#"[{"commitment":null}]"#,
        r#"[{"commitment":"max"}]"#,
        r#"[{"commitment":"Confirmed"}]"#,
    ] {
        assert_eq!(slot_of(params), Some(42), "{params}");
    }
    for name in ["confirmed", "processed"] {
        let params = format!(r#"[{{"commitment":"{name}"}}]"#);
        assert_eq!(slot_of(&params), Some(44), "{params}");
    }
}

#[test]
fn a_blockhash_before_the_minimum_slot_is_declined() {
    let (_dir, store) = open();
    let is_answered = |options: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[{{{options}}}]}}"#
        );
        answered(&store, text.as_bytes()).is_some()
    };
    // The newest finalized block is that of slot 42, and the newest that of slot 44.
    for (slot, finalized, confirmed) in [
        ("0", true, true),
        ("42", true, true),
        ("43", false, true),
        ("44", false, true),
        ("45", false, false),
        ("9007199254740991", false, false),
        ("18446744073709551615", false, false),
        ("18446744073709551616", false, false),
        ("1e400", false, false),
        // Integers by their value: the general path decides.
        ("4.2e1", false, false),
        ("-0", false, false),
        ("-1", false, false),
        ("\"42\"", false, false),
        ("[42]", false, false),
        ("{\"minContextSlot\":42}", false, false),
        ("true", false, false),
        ("42,\"minContextSlot\":1", false, false),
        ("null,\"minContextSlot\":1", false, false),
    ] {
        let options = format!(r#""minContextSlot":{slot}"#);
        assert_eq!(is_answered(&options), finalized, "finalized {slot}");
        let options = format!(r#""commitment":"confirmed",{options}"#);
        assert_eq!(is_answered(&options), confirmed, "confirmed {slot}");
    }
    // Reads of accounts do not look at it (contract: indexed-slot).
    let account = r#"{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["KEY",{"minContextSlot":1e400}]}"#;
    assert!(answered(&store, body(account).as_bytes()).is_some());
}

/// The result for one slot must not be that for another.
#[test]
fn a_minimum_slot_is_not_answered_from_memory() {
    let (_dir, store) = open();
    let recent = &mut Recent::new(8);
    let ask = |recent: &mut Recent, slot: u64| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash","params":[{{"minContextSlot":{slot}}}]}}"#
        );
        answered_with(recent, &store, text.as_bytes()).is_some()
    };
    let asked = [0, 42, 43, 0, 43, 42].map(|slot| ask(recent, slot));
    assert_eq!(asked, [true, true, false, true, false, true]);
}

#[test]
fn only_blockhashes_are_declined_while_the_feed_is_silent() {
    let (_dir, store) = open();
    let is_answered = |method: &str, params: &str, blockhashes| {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let (text, mut out) = (body(&text), Vec::new());
        let recent = &mut Recent::new(8);
        answer_method(text.as_bytes(), &store, recent, blockhashes, &mut out).is_some()
    };
    for (method, params, is_declined) in [
        ("getLatestBlockhash", "[]", true),
        (
            "getLatestBlockhash",
            r#"[{"commitment":"confirmed"}]"#,
            true,
        ),
        ("getAccountInfo", r#"["KEY"]"#, false),
        ("getTokenSupply", r#"["MINT"]"#, false),
    ] {
        assert!(is_answered(method, params, Blockhashes::Answered));
        let answered = is_answered(method, params, Blockhashes::Declined);
        assert_eq!(answered, !is_declined, "{method} {params}");
    }
}

#[test]
fn json_test_suite_is_declined() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/fixtures/json/test_parsing");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: the fixtures hold no JSON test suite");
        return;
    };
    let (_dir, store) = open();
    let good = body(r#"{"jsonrpc":"2.0","method":"getAccountInfo","params":["KEY"],"id":ID}"#);
    for file in files {
        let path = file.unwrap().path();
        let text = std::fs::read(&path).unwrap();
        assert_eq!(answered(&store, &text), None, "{}", path.display());
        // The same text as an id: only valid JSON may be echoed.
        let (before, after) = good.split_once("ID").unwrap();
        let body = [before.as_bytes(), &text, after.as_bytes()].concat();
        if answered(&store, &body).is_some() {
            assert!(
                serde_json::from_slice::<Value>(&body).is_ok(),
                "{}",
                path.display()
            );
        }
    }
}

use proptest::prelude::*;

use super::*;

fn form(options: &[(&str, &str)]) -> BundleForm {
    let pair = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    BundleForm {
        transactions_max: 4,
        options: options.iter().map(pair).collect(),
    }
}

fn plain() -> BundleForm {
    form(&[("encoding", r#""base64""#)])
}

fn protected() -> BundleForm {
    form(&[
        ("encoding", r#""base64""#),
        ("mevProtect", "true"),
        ("revertProtection", "true"),
    ])
}

/// Id and transactions; the list must be these in quotes.
fn read<'a>(body: &'a str, form: &BundleForm) -> Option<(&'a str, Vec<&'a str>)> {
    let call = read_bundle_call(body.as_bytes(), form)?;
    let text = |bytes: &'a [u8]| std::str::from_utf8(bytes).unwrap();
    let transactions: Vec<&str> = call.transactions.into_iter().map(text).collect();
    let list = format!("\"{}\"", transactions.join("\",\""));
    assert_eq!(body.get(call.list), Some(list.as_str()));
    Some((text(call.id), transactions))
}

fn whole(id: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"sendBundle","params":{params}}}"#)
}

#[test]
fn what_clients_write() {
    let params = r#"[["AA==","BBBB"],{"encoding":"base64"}]"#;
    let texts = vec!["AA==", "BBBB"];
    for id in ["1", "0", "999999999999999", r#""""#, r#""a-b 7""#] {
        let body = whole(id, params);
        assert_eq!(read(&body, &plain()), Some((id, texts.clone())), "{body}");
    }
    let spaced = " {\t\"params\" : [ [\"AA==\",\"BBBB\"] , { \"encoding\" : \"base64\" } ] ,\r\n\"method\" :\"sendBundle\" , \"id\" : 7 ,\"jsonrpc\":\"2.0\" } \n";
    assert_eq!(read(spaced, &plain()), Some(("7", texts)));
    for options in [
        r#"{"encoding":"base64","mevProtect":true,"revertProtection":true}"#,
        r#"{ "revertProtection": true, "mevProtect": true, "encoding": "base64" }"#,
    ] {
        let body = whole("1", &format!(r#"[["a","b","c","d"],{options}]"#));
        assert_eq!(
            read(&body, &protected()),
            Some(("1", vec!["a", "b", "c", "d"]))
        );
        assert_eq!(read(&body, &plain()), None, "other options");
    }
}

#[test]
fn what_is_left_to_others() {
    let right = whole("1", r#"[["AA=="],{"encoding":"base64"}]"#);
    assert!(read(&right, &plain()).is_some());
    let params = [
        r#"[["AA=="],{}]"#,
        r#"[["AA=="],{"encoding":"base58"}]"#,
        r#"[["AA=="],{"encoding":"base64","encoding":"base64"}]"#,
        r#"[["AA=="],{"encoding":"base64","other":1}]"#,
        r#"[["AA=="],{"encoding":"base64"},1]"#,
        r#"[["AA=="],{"encoding":"base64"}"#,
        r#"[["AA=="],{"encoding":"base64",}]"#,
        r#"[["AA=="]]"#,
        r#"[[],{"encoding":"base64"}]"#,
        r#"[["AA==",],{"encoding":"base64"}]"#,
        r#"[["AA==" ,"BB=="],{"encoding":"base64"}]"#,
        r#"[["a","b","c","d","e"],{"encoding":"base64"}]"#,
        r#"[[1],{"encoding":"base64"}]"#,
        r#"["AA==",{"encoding":"base64"}]"#,
        r#"{"0":["AA=="]}"#,
        "null",
    ];
    for params in params {
        let body = whole("1", params);
        assert_eq!(read(&body, &plain()), None, "{body}");
    }
    let long = format!("\"{}\"", "a".repeat(129));
    for id in [
        "null",
        "-1",
        "01",
        "1.0",
        "1e3",
        "1234567890123456",
        "[1]",
        "",
        r#""\u0041""#,
        "\"é\"",
        "\"\u{7f}\"",
        "\"\t\"",
        "\"",
        &long,
    ] {
        let body = whole(id, r#"[["AA=="],{"encoding":"base64"}]"#);
        assert_eq!(read(&body, &plain()), None, "{body}");
    }
    let changed = [
        ("2.0", "1.0"),
        ("sendBundle", "sendTransaction"),
        (r#""id":1,"#, ""),
        (r#""id":1,"#, r#""id":1,"id":1,"#),
        (r#""id":1,"#, r#""id":1,"more":1,"#),
        (r#""jsonrpc":"2.0","#, ""),
        (r#""jsonrpc":"2.0","#, r#""jsonrpc":2.0,"#),
        (r#""method":"sendBundle","#, ""),
        (r#""method""#, r#""m\u0065thod""#),
        ("{\"jsonrpc", "\u{c}{\"jsonrpc"),
        ("{\"jsonrpc", "\u{feff}{\"jsonrpc"),
    ];
    for (from, to) in changed {
        let body = right.replacen(from, to, 1);
        assert_ne!(body, right);
        assert_eq!(read(&body, &plain()), None, "{body}");
    }
    for more in ["x", "}", ",", "{}"] {
        assert_eq!(read(&format!("{right}{more}"), &plain()), None, "{more}");
    }
    for end in 0..right.len() {
        assert_eq!(read(&right[..end], &plain()), None, "cut at {end}");
    }
}

proptest! {
    /// What is read is what JSON says, whatever pieces a body is made of; and nothing panics.
    #[test]
    fn is_what_json_says(
        start in any::<bool>(),
        pieces in prop::collection::vec(prop_oneof![
            8 => prop::sample::select(vec![
                r#""jsonrpc":"2.0""#, r#""id":"#, "17", r#""x""#, r#""method":"sendBundle""#, r#""params":"#,
                r#"[["AA=="],{"encoding":"base64"}]"#, "[[", r#""AA==""#, "]", "[", "{", "}", ",", ":", " ", "\n",
                r#"{"encoding":"base64"}"#, r#""encoding""#, r#""base64""#, "true", "null", "\\", "\"", "é",
            ]).prop_map(|piece| piece.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..6),
        ], 0..24),
        cut in 0usize..400,
    ) {
        let mut body = if start {
            whole("1", r#"[["AA==","BB=="],{"encoding":"base64"}]"#).into_bytes()
        } else {
            Vec::new()
        };
        let rest = body.split_off(cut.min(body.len()));
        body.extend(pieces.concat());
        body.extend(rest);
        if let Some(call) = read_bundle_call(&body, &plain()) {
            // What is no base64 is read as JSON instead.
            let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
            if call.transactions.iter().copied().flatten().all(is_plain) {
                let text = |bytes: &&[u8]| String::from_utf8_lossy(bytes).into_owned();
                let texts: Vec<String> = call.transactions.iter().map(text).collect();
                let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
                prop_assert_eq!(&value["params"], &serde_json::json!([texts, { "encoding": "base64" }]));
                prop_assert_eq!(&value["method"], "sendBundle");
                prop_assert_eq!(&value["jsonrpc"], "2.0");
                prop_assert_eq!(value["id"].to_string().into_bytes(), call.id.to_vec());
                prop_assert_eq!(value.as_object().unwrap().len(), 4);
            }
        }
    }

    /// Whatever stands around the right words, in whatever order, is read.
    #[test]
    fn reads_every_order(
        order in Just(vec![0usize, 1, 2, 3]).prop_shuffle(),
        id in "0|[1-9][0-9]{0,14}",
        texts in prop::collection::vec("[A-Za-z0-9+/=]{0,80}", 1..5),
        space in prop::sample::select(vec!["", " ", "\n\t", "\r\n  "]),
    ) {
        let params = format!(
            r#"[{space}["{}"]{space},{space}{{{space}"encoding"{space}:{space}"base64"{space}}}{space}]"#,
            texts.join("\",\"")
        );
        let members = [
            ("jsonrpc", r#""2.0""#), ("id", id.as_str()), ("method", r#""sendBundle""#), ("params", params.as_str()),
        ];
        let written: Vec<String> = order
            .iter()
            .map(|at| format!(r#"{space}"{}"{space}:{space}{}{space}"#, members[*at].0, members[*at].1))
            .collect();
        let body = format!("{space}{{{}}}{space}", written.join(","));
        let expected = Some((id.as_str(), texts.iter().map(String::as_str).collect()));
        prop_assert_eq!(read(&body, &plain()), expected);
    }
}

use proptest::prelude::*;
use serde_json::Value;

use super::error::{ErrorScan, Found};
use super::secret::Forms;

const KEY: &str = "hml-canary/of+them?key=~9";

fn cut(text: &str) -> String {
    let forms = Forms::new(&[KEY.as_bytes()], &[KEY.as_bytes()]);
    let found = forms.find(text.as_bytes(), 0, text.len());
    let mut rest = text.to_owned();
    for (start, end) in found.into_iter().rev() {
        rest.replace_range(start..end, "#");
    }
    rest
}

fn units(format: impl Fn(u8) -> String) -> String {
    KEY.bytes().map(format).collect()
}

#[test]
fn a_key_is_found_however_it_is_escaped() {
    let forms = [
        KEY.to_owned(),
        KEY.to_uppercase(),
        units(|byte| format!("%{byte:02x}")),
        units(|byte| format!("%2525{byte:02X}")),
        units(|byte| format!("\\u00{byte:02x}")),
        units(|byte| format!("\\\\\\x{byte:02X}")),
        units(|byte| format!("\\{}", byte as char)),
        units(|byte| format!("&#{byte};")),
        units(|byte| format!("&#x{byte:X};")),
        units(|byte| format!("&#0{byte}")) + ";",
        units(|byte| format!("&amp;amp;#x{byte:04x};")),
        units(|byte| format!("\\u0026#{byte};")),
        units(|byte| format!("%26#{byte};")),
        KEY.replace('/', "&sol;")
            .replace('=', "&equals;")
            .replace('+', "&#43;"),
        KEY.replace('/', "&amp;sol;")
            .replace('-', "\\u002d")
            .replace('?', "%3F"),
    ];
    for form in forms {
        for (before, behind) in [
            ("", ""),
            ("a %\\", "\\% z"),
            ("%", "25"),
            ("hml", "9"),
            ("&", "amp;"),
        ] {
            let got = cut(&format!("{before}{form}{behind}"));
            let kept = before.trim_end_matches('\\');
            assert!(
                got.starts_with(kept) && got.ends_with(behind),
                "{form}: {got}"
            );
            assert!(
                got.len() <= before.len() + 1 + behind.len(),
                "{form}: {got}"
            );
        }
    }
}

#[test]
fn what_is_no_key_stays() {
    for text in [
        "",
        "h",
        &KEY[1..],
        "hml-canary/of+them?key=~",
        "%68%6d",
        "\\u0068\\u00",
        "&#104;&",
    ] {
        assert_eq!(cut(text), text);
    }
    let none = Forms::new(&[b""], &[b""]);
    assert!(none.find(KEY.as_bytes(), 0, KEY.len()).is_empty());
}

proptest! {
    #[test]
    fn ranges_are_found_as_the_whole_is(parts in prop::collection::vec(
        prop_oneof![
            Just(KEY.to_owned()), Just(units(|byte| format!("&#{byte};"))), "[\\\\%&a-z0-9;#]{0,40}"
        ], 0..8), size in 1_usize..64)
    {
        let text = parts.concat();
        let forms = Forms::new(&[KEY.as_bytes()], &[KEY.as_bytes()]);
        let whole = forms.find(text.as_bytes(), 0, text.len());
        let mut found = Vec::new();
        let mut from = 0;
        while from < text.len() {
            let to = (from + size).min(text.len());
            found.extend(forms.find(text.as_bytes(), from, to));
            from = found.last().map_or(to, |&(_, end)| end.max(to));
        }
        prop_assert_eq!(found, whole);
    }

    #[test]
    fn the_error_is_that_of_a_parser(value in answers(), size in 1_usize..32, is_pretty: bool) {
        let text = if is_pretty {
            serde_json::to_string_pretty(&value)
        } else {
            serde_json::to_string(&value)
        };
        let text = text.unwrap();
        let got = scan(text.as_bytes(), size);
        let error = value.get("error").filter(|error| !error.is_null());
        prop_assert_eq!(got.is_some(), error.is_some());
        let got = got.unwrap_or_default();
        prop_assert_eq!(got.code, error.and_then(|error| error.get("code")?.as_f64()));
        let message = error.and_then(|error| error.get("message")?.as_str());
        let found = got.message.map(|(start, end)| format!("\"{}\"", &text[start..end]));
        prop_assert_eq!(found, message.map(|message| Value::from(message).to_string()));
    }
}

fn scan(text: &[u8], size: usize) -> Option<Found> {
    let mut scan = ErrorScan::new();
    text.chunks(size).for_each(|piece| scan.feed(piece));
    scan.found()
}

/// JSON whose members have the names that count, at any depth.
fn answers() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(|number| Value::from((number * 8.0).round() / 8.0)),
        "[a-z\"\\\\ {}\\[\\],:é]{0,12}".prop_map(Value::from),
        Just(Value::from("\"error\":{\"code\":1}")),
    ];
    let name = prop_oneof![
        4 => Just("error"), 2 => Just("code"), 2 => Just("message"), 1 => Just("result"), 1 => Just("errors"),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        let members = prop::collection::vec((name.clone(), inner.clone()), 0..6);
        prop_oneof![
            3 => members.prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
            1 => prop::collection::vec(inner, 0..6).prop_map(Value::from),
        ]
    })
}

#[test]
fn of_repeated_members_the_last_counts() {
    let cases: [(&str, Option<Option<f64>>); 10] = [
        (r#"{"error":{"code":1},"error":null}"#, None),
        (
            r#"{"error":null,"error":{"code":-32002}}"#,
            Some(Some(-32002.0)),
        ),
        (r#"{"error":{"code":1,"code":2}}"#, Some(Some(2.0))),
        (r#"{"error":{"code":1,"code":"2"}}"#, Some(None)),
        (r#"{"\u0065rror":{"c\u006fde":7}}"#, Some(Some(7.0))),
        (r#"{"error":"a text"}"#, Some(None)),
        (r#"{"error":[{"code":1}]}"#, Some(None)),
        (r#"{"error":{"data":{"code":9},"code":3}}"#, Some(Some(3.0))),
        (r#"[{"error":{"code":1}}]"#, None),
        (r#"{"result":{"error":{"code":1}},"id":"error"}"#, None),
    ];
    for (text, want) in cases {
        assert_eq!(
            scan(text.as_bytes(), 1).map(|found| found.code),
            want,
            "{text}"
        );
    }
}

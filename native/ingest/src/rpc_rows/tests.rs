use proptest::prelude::*;
use serde_json::json;

use super::*;
use primitives::token::TOKEN_PROGRAM;
use store::row_codec::PackedRows;

const KEY: &str = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";

/// An account in JSON-RPC format.
fn account(data: &[u8], encoding: &str) -> Value {
    let packed = match encoding {
        "base64+zstd" => zstd::bulk::compress(data, 1).unwrap(),
        _ => data.to_vec(),
    };
    json!({
        "lamports": u64::MAX - 1, "data": [STANDARD.encode_to_string(packed), encoding],
        "owner": KEY, "executable": true, "rentEpoch": u64::MAX, "space": data.len(),
    })
}

fn read(wanted: Wanted, slot: Option<u64>, text: &str, chunk: usize) -> Result<(Vec<u8>, RpcEnd)> {
    let (mut rows, mut out) = (RpcRows::new(wanted, slot), Vec::new());
    for bytes in text.as_bytes().chunks(chunk) {
        rows.feed(bytes, &mut out)?;
    }
    Ok((out, rows.end()?))
}

fn fails(wanted: Wanted, answer: &Value) -> String {
    let error = read(wanted, None, &answer.to_string(), 11).unwrap_err();
    error.detail().replacen("the answer ", "", 1)
}

#[test]
fn an_account_is_exact_in_both_encodings() {
    let data: Vec<u8> = (0..5_000).map(|i| (i * i / 7) as u8).collect();
    for (encoding, data) in [
        ("base64", &data[..]),
        ("base64+zstd", &data),
        ("base64+zstd", &[]),
        ("base64", &[]),
    ] {
        let rows = json!([{"pubkey": KEY, "account": account(data, encoding)}]);
        let answer = json!({"result": {"context": {"slot": 77}, "value": rows}});
        let (out, end) = read(Wanted::Listed, None, &answer.to_string(), 97).unwrap();
        let all = PackedRows::new(&out).collect::<Result<Vec<_>>>().unwrap();
        let account = AccountRef {
            slot: 77,
            lamports: u64::MAX - 1,
            rent_epoch: u64::MAX,
            executable: true,
            owner: &TOKEN_PROGRAM,
            data,
        };
        assert_eq!(
            all,
            [PackedRow {
                pubkey: &TOKEN_PROGRAM,
                account
            }]
        );
        assert_eq!((end.slot, end.rows), (Some(77), 1));
    }
}

#[test]
fn addresses_without_an_account_are_rows_without_lamports() {
    let mut mint = vec![0; 82];
    mint[45] = 1;
    let mut holder = vec![0; 165];
    holder[..32].fill(3);
    holder[108] = 1;
    let answer = json!({"result": {"context": {"slot": 5}, "value": [
        null, account(&holder, "base64"), account(&mint, "base64"), account(&holder, "base64"),
    ]}});
    let keys = vec![[1; 32], [2; 32], [3; 32], [4; 32]];
    let (out, end) = read(
        Wanted::Positional(keys.clone()),
        None,
        &answer.to_string(),
        50,
    )
    .unwrap();
    let all = PackedRows::new(&out).collect::<Result<Vec<_>>>().unwrap();
    assert_eq!(all.iter().map(|row| *row.pubkey).collect::<Vec<_>>(), keys);
    assert_eq!(
        all.iter()
            .map(|row| row.account.lamports == 0)
            .collect::<Vec<_>>(),
        [true, false, false, false]
    );
    assert_eq!(end.mints, [[3; 32]]);
    assert_eq!(end.programs, [([3; 32], TokenProgram::Token)]);
    let few = fails(Wanted::Positional(vec![[1; 32]; 5]), &answer);
    assert_eq!(few, "holds 4 accounts, not 5");
    let many = fails(Wanted::Positional(vec![[1; 32]; 3]), &answer);
    assert_eq!(many, "holds more accounts than were asked for");
}

#[test]
fn a_page_without_a_context_has_the_slot_of_the_caller() {
    let page = json!({"result": {
        "accounts": [{"pubkey": KEY, "account": account(&[1], "base64")}], "paginationKey": "next", "count": 1,
    }});
    let (out, end) = read(Wanted::Listed, Some(9), &page.to_string(), 9).unwrap();
    let row = PackedRows::new(&out).next().unwrap().unwrap();
    assert_eq!((row.account.slot, end.slot), (9, None));
    assert_eq!(end.pagination_key.as_deref(), Some("next"));
    assert_eq!(
        fails(Wanted::Listed, &page),
        "names no slot before its accounts"
    );
}

#[test]
fn lengths_are_counted_up_to_a_bound() {
    let rows = |count: usize| -> Value {
        (0..count).map(|i| json!({"pubkey": KEY, "account": {
            "lamports": 1, "data": ["", "base64"], "owner": KEY, "executable": false, "space": i / 2,
        }})).collect()
    };
    let sizes = |count| {
        let answer = json!({"result": rows(count)}).to_string();
        read(Wanted::Sizes, None, &answer, 500).unwrap().1.sizes
    };
    assert_eq!(sizes(5), [(0, 2), (1, 2), (2, 1)]);
    assert_eq!(sizes(2 * SIZES_MAX).len(), SIZES_MAX);
    assert_eq!(sizes(2 * SIZES_MAX + 1), []);
}

#[test]
fn the_error_of_the_upstream_is_returned() {
    let message = format!("slow\ndown {}", "x".repeat(1_000));
    let answer = json!({"jsonrpc": "2.0", "error": {"code": -32010, "message": message}, "id": 1});
    let error = read(Wanted::Listed, None, &answer.to_string(), 30)
        .unwrap()
        .1
        .error
        .unwrap();
    assert_eq!(error.code, -32010);
    assert!(error.message.starts_with("slowdown xx"));
    assert_eq!(error.message.len(), MESSAGE_CHARS_MAX);
}

#[test]
fn a_float_of_the_largest_rent_epoch_is_the_largest() {
    let text = json!({"result": [{"pubkey": KEY, "account": account(&[], "base64")}]}).to_string();
    let text = text.replace(
        "\"rentEpoch\":18446744073709551615",
        "\"rentEpoch\":1.8446744073709552e19",
    );
    let (out, _) = read(Wanted::Listed, Some(1), &text, 64).unwrap();
    assert_eq!(
        PackedRows::new(&out)
            .next()
            .unwrap()
            .unwrap()
            .account
            .rent_epoch,
        u64::MAX
    );
}

#[test]
fn wrong_rows_are_refused() {
    let with = |member: &str, value: Value| {
        let mut account = account(&[1, 2, 3], "base64");
        account[member] = value;
        json!({"result": {"context": {"slot": 1}, "value": [{"pubkey": KEY, "account": account}]}})
    };
    let long = vec![0_u8; ACCOUNT_DATA_BYTES_MAX + 1];
    for (answer, reason) in [
        (with("space", json!(4)), "cuts the data of an account"),
        (
            with("owner", json!("0OIl")),
            "holds an address that is none",
        ),
        (
            with("data", json!(["!!", "base64"])),
            "holds data that is not base64",
        ),
        (
            with("data", json!(["AA==", "base64+zstd"])),
            "holds data that is not zstd, or longer than declared",
        ),
        (
            with("data", json!(["AA", "base58"])),
            "holds data in another encoding than was asked for",
        ),
        (
            with(
                "data",
                json!([
                    STANDARD.encode_to_string(zstd::bulk::compress(&long, 1).unwrap()),
                    "base64+zstd"
                ]),
            ),
            "holds data that is not zstd, or longer than declared",
        ),
        (json!({"result": null}), "holds no list of accounts"),
        (json!({"id": 1}), "has neither result nor error"),
    ] {
        assert_eq!(fails(Wanted::Listed, &answer), reason);
    }
    assert!(
        fails(Wanted::Listed, &with("lamports", json!(-1)))
            .starts_with("holds something else than an account")
    );
    let short = fails(
        Wanted::Listed,
        &with("owner", json!({"x": "y".repeat(9_000)})),
    );
    assert!(short.len() < 2 * MESSAGE_CHARS_MAX, "{short}");
}

proptest! {
    #[test]
    fn damage_neither_panics_nor_invents_rows(
        at in 0_usize..400, byte in any::<u8>(), chunk in 1_usize..50,
    ) {
        let answer = json!({"result": {"context": {"slot": 1}, "value": [
            {"pubkey": KEY, "account": account(&[7; 40], "base64")},
            {"pubkey": KEY, "account": account(&[7; 40], "base64+zstd")},
        ]}});
        let mut text = answer.to_string().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        let (mut rows, mut out) = (RpcRows::new(Wanted::Listed, None), Vec::new());
        let fed = text.chunks(chunk).try_for_each(|bytes| rows.feed(bytes, &mut out));
        prop_assert!(PackedRows::new(&out).count() <= 2);
        if let (Ok(()), Ok(end)) = (fed, rows.end()) {
            prop_assert_eq!(end.rows, PackedRows::new(&out).count() as u64);
        }
    }
}

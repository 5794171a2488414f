mod properties;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use primitives::Pubkey;
use primitives::token::{
    NATIVE_MINT, TOKEN_2022_PROGRAM, TOKEN_PROGRAM, is_account, is_mint, mint_of,
};
use store::AccountRef;
use sys::error::Result;

const NOW: i64 = 1_700_000_000;

#[derive(Default)]
struct Chain(BTreeMap<Pubkey, (Pubkey, Vec<u8>)>);

impl Accounts for Chain {
    fn account(&self, pubkey: &Pubkey) -> Result<Option<AccountRef<'_>>> {
        Ok(self.0.get(pubkey).map(|(owner, data)| account(owner, data)))
    }
    fn unix_timestamp(&self) -> i64 {
        NOW
    }
}

fn account<'a>(owner: &'a Pubkey, data: &'a [u8]) -> AccountRef<'a> {
    AccountRef {
        slot: 5,
        lamports: u64::MAX,
        rent_epoch: u64::MAX,
        executable: false,
        owner,
        data,
    }
}

fn write(chain: &Chain, view: View, account: &AccountRef<'_>, in_pages: bool) -> Result<Vec<u8>> {
    let mints = if in_pages {
        Mints::in_pages(chain)
    } else {
        Mints::by_address(chain)
    };
    let mut out = Vec::new();
    AccountWriter::new(view, mints)
        .write(&mut out, account)
        .map(|()| out)
}

fn written(chain: &Chain, view: View, account: &AccountRef<'_>) -> Value {
    serde_json::from_slice(&write(chain, view, account, false).unwrap()).unwrap()
}

/// The value after a round trip through text: serde_json parses some doubles one bit off.
fn through_text(value: &impl serde::Serialize) -> Value {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn base64(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

fn plain_mint(decimals: u8) -> Vec<u8> {
    let mut mint = vec![0; 82];
    mint[44] = decimals;
    mint[45] = 1;
    mint
}

fn plain_account(mint: &Pubkey, amount: u64) -> Vec<u8> {
    let mut data = [&mint[..], &[3; 32], &amount.to_le_bytes(), &[0; 93]].concat();
    data[108] = 1;
    data
}

const fn view(encoding: Encoding) -> View {
    View {
        encoding,
        slice: None,
    }
}

const fn sliced(encoding: Encoding, offset: u64, length: u64) -> View {
    View {
        encoding,
        slice: Some(DataSlice { offset, length }),
    }
}

#[test]
fn writes_exact_members_in_order() {
    let chain = Chain::default();
    let owner = [0; 32];
    let account = AccountRef {
        executable: true,
        ..account(&owner, b"abc")
    };
    let text = write(&chain, view(Encoding::Base64), &account, false).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        r#"{"lamports":18446744073709551615,"data":["YWJj","base64"],"#.to_string()
            + r#""owner":"11111111111111111111111111111111","executable":true,"#
            + r#""rentEpoch":18446744073709551615,"space":3}"#
    );
}

#[test]
fn slices_and_base58_bound() {
    use Encoding::{Base58, Base64, JsonParsed};
    let too_long = Err("base58TooLong");
    let cases: [(&str, usize, View, std::result::Result<usize, &str>); 16] = [
        ("127 bytes", 127, view(Base58), Ok(127)),
        ("128 bytes", 128, view(Base58), Ok(128)),
        ("129 bytes", 129, view(Base58), too_long),
        ("129 bytes from 1", 129, sliced(Base58, 1, 500), Ok(128)),
        ("128 of 129 bytes", 129, sliced(Base58, 0, 128), Ok(128)),
        ("129 of 200 bytes", 200, sliced(Base58, 9, 129), too_long),
        ("no bytes", 0, view(Base58), Ok(0)),
        ("offset at the end", 165, sliced(Base64, 165, 5), Ok(0)),
        ("offset before the end", 165, sliced(Base64, 164, 5), Ok(1)),
        ("offset past the end", 165, sliced(Base64, 166, 5), Ok(0)),
        (
            "offset and length of u64",
            165,
            sliced(Base64, u64::MAX, u64::MAX),
            Ok(0),
        ),
        ("length of u64", 165, sliced(Base64, 1, u64::MAX), Ok(164)),
        ("length 0", 165, sliced(Base64, 1, 0), Ok(0)),
        ("the whole", 165, sliced(Base64, 0, 165), Ok(165)),
        ("a slice of nothing", 0, sliced(Base64, 0, 1), Ok(0)),
        (
            "jsonParsed ignores it",
            165,
            sliced(JsonParsed, 9, 1),
            Ok(165),
        ),
    ];
    let chain = Chain::default();
    for (name, length, view, expected) in cases {
        let data = vec![255; length];
        let result = write(&chain, view, &account(&[9; 32], &data), false);
        let result = result.map_err(|error| error.name()).map(|text| {
            let value: Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(value["space"], length, "{name}");
            let text = value["data"][0].as_str().unwrap();
            match value["data"][1].as_str().unwrap() {
                "base58" => primitives::encoding::decode_memcmp(
                    text,
                    primitives::encoding::BytesEncoding::Base58,
                )
                .unwrap()
                .len(),
                encoding => {
                    assert_eq!(encoding, "base64", "{name}");
                    base64_simd::STANDARD.decode_to_vec(text).unwrap().len()
                }
            }
        });
        assert_eq!(result, expected, "{name}");
    }
}

#[test]
fn parsed_accounts_and_fallbacks() {
    let mint = [7; 32];
    let foreign = [8; 32];
    let chain = Chain(BTreeMap::from([
        (mint, (TOKEN_PROGRAM, plain_mint(2))),
        (foreign, ([1; 32], plain_mint(0))),
        ([9; 32], (TOKEN_PROGRAM, vec![0; 82])),
    ]));
    let mut multisig = vec![0; 355];
    multisig[..3].copy_from_slice(&[1, 1, 1]);
    let mut uninitialised = plain_account(&mint, 1);
    uninitialised[108] = 0;
    let ok = plain_account(&mint, 150);
    let cases: [(&str, Pubkey, Vec<u8>, Value); 9] = [
        ("an account", TOKEN_PROGRAM, ok.clone(), json!("account")),
        (
            "of the other program",
            TOKEN_2022_PROGRAM,
            ok.clone(),
            json!("account"),
        ),
        (
            "whose mint belongs to anyone",
            TOKEN_PROGRAM,
            plain_account(&foreign, 1),
            json!("account"),
        ),
        ("a mint", TOKEN_PROGRAM, plain_mint(2), json!("mint")),
        ("no token program", [1; 32], ok, Value::Null),
        (
            "a mint that is missing",
            TOKEN_PROGRAM,
            plain_account(&[2; 32], 1),
            Value::Null,
        ),
        (
            "a mint that is none",
            TOKEN_PROGRAM,
            plain_account(&[9; 32], 1),
            Value::Null,
        ),
        ("a multisig", TOKEN_PROGRAM, multisig, Value::Null),
        ("uninitialised", TOKEN_PROGRAM, uninitialised, Value::Null),
    ];
    for (name, owner, data, kind) in cases {
        let value = written(&chain, view(Encoding::JsonParsed), &account(&owner, &data));
        if kind.is_null() {
            assert_eq!(value["data"], json!([base64(&data), "base64"]), "{name}");
        } else {
            assert_eq!(value["data"]["parsed"]["type"], kind, "{name}");
            assert_eq!(value["data"]["space"], data.len(), "{name}");
        }
    }
}

#[test]
fn only_pages_know_the_native_mint() {
    let chain = Chain::default();
    let data = plain_account(&NATIVE_MINT, 1_500_000_000);
    let account = account(&TOKEN_PROGRAM, &data);
    let by_address = write(&chain, view(Encoding::JsonParsed), &account, false).unwrap();
    let by_address: Value = serde_json::from_slice(&by_address).unwrap();
    assert_eq!(by_address["data"][1], "base64");
    let in_page = write(&chain, view(Encoding::JsonParsed), &account, true).unwrap();
    let in_page: Value = serde_json::from_slice(&in_page).unwrap();
    assert_eq!(
        in_page["data"]["parsed"]["info"]["tokenAmount"],
        json!({"amount": "1500000000", "decimals": 9, "uiAmount": 1.5, "uiAmountString": "1.5"})
    );
}

#[test]
fn encoding_names_and_codes() {
    for (code, encoding) in Encoding::ALL.into_iter().enumerate() {
        assert_eq!(Encoding::of_code(code as u32), Some(encoding));
        assert_eq!(
            Encoding::of_name(encoding.name().as_bytes()),
            Some(encoding)
        );
    }
    assert_eq!(Encoding::of_code(4), None);
    assert_eq!(Encoding::of_name(b"binary"), None);
}

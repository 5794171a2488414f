use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use solana_account_decoder::parse_account_data::AccountAdditionalDataV3;
use solana_account_decoder::{UiAccountEncoding, UiDataSliceConfig, encode_ui_account};
use spl_token_2022_interface::extension::StateWithExtensions;
use spl_token_2022_interface::state::{Account, Mint};

use super::*;
use crate::token::{NATIVE_MINT, TOKEN_2022_PROGRAM, TOKEN_PROGRAM, is_account, is_mint, mint_of};

const NOW: i64 = 1_700_000_000;

/// Data lengths of the extension types 0 to 28; odd ones come from the generator.
const EXTENSION_BYTES: [u16; 29] = [
    0, 108, 8, 32, 65, 295, 1, 0, 1, 0, 52, 1, 32, 0, 64, 1, 129, 64, 64, 90, 64, 80, 64, 72, 196,
    56, 33, 0, 32,
];

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

/// As a reader of the text sees it: serde_json reads some doubles one bit off.
fn through_text(value: &impl serde::Serialize) -> Value {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn base64(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

/// What the validator's own encoder says, with spec §2.2 laid over it: only accounts and mints parse, and
/// jsonParsed knows no slice.
fn agave(chain: &Chain, view: View, account: &AccountRef<'_>) -> Value {
    let is_token = crate::token::TokenProgram::of(account.owner).is_some()
        && (StateWithExtensions::<Account>::unpack(account.data).is_ok()
            || StateWithExtensions::<Mint>::unpack(account.data).is_ok());
    let encoding = match view.encoding {
        Encoding::Base58 => UiAccountEncoding::Base58,
        Encoding::Base64Zstd => UiAccountEncoding::Base64Zstd,
        Encoding::JsonParsed if is_token => UiAccountEncoding::JsonParsed,
        Encoding::Base64 | Encoding::JsonParsed => UiAccountEncoding::Base64,
    };
    let slice = view.slice.filter(|_| view.encoding != Encoding::JsonParsed);
    let slice = slice.map(|slice| UiDataSliceConfig {
        offset: slice.offset as usize,
        length: slice.length as usize,
    });
    let mint = mint_of(account.data).and_then(|mint| chain.0.get(mint));
    let mint = mint.and_then(|(_, data)| MintData::of(data, || NOW));
    let additional = AccountAdditionalDataV3 {
        spl_token_additional_data: mint.map(|mint| mint.0),
    };
    let raw = solana_account::Account {
        lamports: account.lamports,
        data: account.data.to_vec(),
        owner: (*account.owner).into(),
        executable: account.executable,
        rent_epoch: account.rent_epoch,
    };
    let key = solana_pubkey::Pubkey::default();
    let ui = encode_ui_account(&key, &raw, encoding, Some(additional), slice);
    through_text(&ui)
}

/// Compression may differ from run to run of the library's versions; what it holds may not.
fn unzipped(mut account: Value) -> Value {
    if account["data"][1] == "base64+zstd" {
        let frame = base64_simd::STANDARD
            .decode_to_vec(account["data"][0].as_str().unwrap())
            .unwrap();
        account["data"][0] = base64(&zstd::decode_all(frame.as_slice()).unwrap()).into();
    }
    account
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
fn members_in_order_and_exact() {
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
fn slices_and_the_base58_bound() {
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
                "base58" => {
                    crate::encoding::decode_memcmp(text, crate::encoding::BytesEncoding::Base58)
                        .unwrap()
                        .len()
                }
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
fn what_parses_and_what_falls_back() {
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
fn native_mint_needs_no_account_in_pages_only() {
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
fn names_and_codes() {
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

fn any_owner() -> impl Strategy<Value = Pubkey> {
    prop_oneof![
        Just(TOKEN_PROGRAM),
        Just(TOKEN_2022_PROGRAM),
        any::<Pubkey>()
    ]
}

fn any_view() -> impl Strategy<Value = View> {
    let number = prop_oneof![0u64..200, any::<u64>()];
    let slice = prop::option::of((number.clone(), number));
    (prop::sample::select(Encoding::ALL.to_vec()), slice).prop_map(|(encoding, slice)| View {
        encoding,
        slice: slice.map(|(offset, length)| DataSlice { offset, length }),
    })
}

/// Type, length and value: mostly of a known type with its right length.
fn any_extension() -> impl Strategy<Value = Vec<u8>> {
    let known = (1u16..29).prop_map(|kind| (kind, EXTENSION_BYTES[usize::from(kind)]));
    let odd = (0u16..40, 0u16..120);
    let value = prop_oneof![
        Just(vec![0u8; 300]),
        prop::collection::vec(any::<u8>(), 300)
    ];
    (prop_oneof![8 => known, 1 => odd], value).prop_map(|((kind, length), value)| {
        let value = &value[..usize::from(length)];
        [&kind.to_le_bytes()[..], &length.to_le_bytes(), value].concat()
    })
}

/// Bytes that are often a token account or a mint, with extensions, and sometimes cut or spoilt.
fn any_token_data(mint: Pubkey) -> impl Strategy<Value = Vec<u8>> {
    let option = || prop_oneof![8 => 0u8..2, 1 => any::<u8>()];
    let account = (
        any::<[[u8; 32]; 3]>(),
        any::<[u64; 3]>(),
        [option(), option(), option()],
        0u8..4,
    )
        .prop_map(
            move |([owner, delegate, close], [amount, native, delegated], tags, state)| {
                let tag = |index: usize| [tags[index], 0, 0, 0];
                let mut data =
                    [&mint[..], &owner, &amount.to_le_bytes(), &tag(0), &delegate].concat();
                data.push(state);
                data.extend(
                    [&tag(1)[..], &native.to_le_bytes(), &delegated.to_le_bytes()].concat(),
                );
                data.extend([&tag(2)[..], &close].concat());
                (data, 2u8)
            },
        );
    let mint = (
        any::<[[u8; 32]; 2]>(),
        any::<u64>(),
        any::<u8>(),
        [option(), option()],
        0u8..3,
    )
        .prop_map(|([authority, freeze], supply, decimals, tags, state)| {
            let mut data = [&[tags[0], 0, 0, 0], &authority[..], &supply.to_le_bytes()].concat();
            data.extend([&[decimals, state, tags[1], 0, 0, 0], &freeze[..]].concat());
            (data, 1u8)
        });
    let extensions = prop::option::of(prop::collection::vec(any_extension(), 0..4));
    let base = prop_oneof![account, mint];
    (
        base,
        extensions,
        prop::option::weighted(0.1, any::<(prop::sample::Index, u8)>()),
    )
        .prop_map(|((mut data, kind), extensions, spoilt)| {
            if let Some(extensions) = extensions {
                data.resize(165, 0);
                data.push(kind);
                data.extend(extensions.concat());
            }
            if let Some((at, byte)) = spoilt {
                let at = at.index(data.len());
                data[at] = byte;
            }
            data
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_as_the_validator_writes_them(
        owner in any_owner(),
        view in any_view(),
        data in prop_oneof![
            any_token_data([7; 32]),
            prop::collection::vec(any::<u8>(), 0..400),
        ],
        mint in prop::option::of(any_token_data([7; 32])),
    ) {
        let mint = mint.map(|data| ([7; 32], (TOKEN_2022_PROGRAM, data)));
        let chain = Chain(mint.into_iter().collect());
        let account = account(&owner, &data);
        match write(&chain, view, &account, false) {
            Ok(text) => {
                let value: Value = serde_json::from_slice(&text).unwrap();
                prop_assert_eq!(unzipped(value), unzipped(agave(&chain, view, &account)));
            }
            Err(error) => {
                prop_assert_eq!(error.name(), "base58TooLong");
                prop_assert_eq!(view.encoding, Encoding::Base58);
                prop_assert!(view.bytes(&data).len() > 128);
            }
        }
    }

    #[test]
    fn layout_rules_equal_the_decoder(data in any_token_data([7; 32])) {
        prop_assert_eq!(is_account(&data), StateWithExtensions::<Account>::unpack(&data).is_ok());
        prop_assert_eq!(is_mint(&data), StateWithExtensions::<Mint>::unpack(&data).is_ok());
    }

    #[test]
    fn amounts_as_the_validator_writes_them(amount: u64, decimals: u8, shift in 0u32..64) {
        let amount = amount >> shift;
        let mint = MintData::of(&plain_mint(decimals), || NOW).unwrap();
        let mut out = b"{".to_vec();
        push_amount(&mut out, amount, &mint);
        out.push(b'}');
        let ui = solana_account_decoder::parse_token::token_amount_to_ui_amount_v3(amount, &mint.0);
        let ours: Value = serde_json::from_slice(&out).unwrap();
        prop_assert_eq!(ours, through_text(&ui));
    }

    #[test]
    fn strings_escape_as_json(text: String) {
        let mut out = Vec::new();
        push_str(&mut out, &text);
        prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
    }

    #[test]
    fn integers_are_exact(number: u64, shift in 0u32..64) {
        let mut out = Vec::new();
        push_u64(&mut out, number >> shift);
        prop_assert_eq!(String::from_utf8(out).unwrap(), (number >> shift).to_string());
    }
}

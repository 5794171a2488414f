use proptest::prelude::*;
use solana_account_decoder::parse_account_data::AccountAdditionalDataV3;
use solana_account_decoder::{UiAccountEncoding, UiDataSliceConfig, encode_ui_account};
use spl_token_2022_interface::extension::StateWithExtensions;
use spl_token_2022_interface::state::{Account, Mint};

use super::*;

/// Data lengths of the extension types 0 to 28. Other lengths come from the generator.
const EXTENSION_BYTES: [u16; 29] = [
    0, 108, 8, 32, 65, 295, 1, 0, 1, 0, 52, 1, 32, 0, 64, 1, 129, 64, 64, 90, 64, 80, 64, 72, 196,
    56, 33, 0, 32,
];

/// The reply of the validator's own encoder, restricted by the contract (parsed-accounts): only
/// token accounts and mints parse, and `jsonParsed` ignores a slice.
fn agave(chain: &Chain, view: View, account: &AccountRef<'_>) -> Value {
    let is_token = primitives::token::TokenProgram::of(account.owner).is_some()
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

/// Decompresses zstd data, because library versions may compress differently.
fn unzipped(mut account: Value) -> Value {
    if account["data"][1] == "base64+zstd" {
        let frame = base64_simd::STANDARD
            .decode_to_vec(account["data"][0].as_str().unwrap())
            .unwrap();
        account["data"][0] = base64(&zstd::decode_all(frame.as_slice()).unwrap()).into();
    }
    account
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

/// Type, length and value: mostly a known type with its correct length.
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

/// Bytes that are often a token account or a mint, with extensions, and sometimes truncated or
/// corrupted.
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
    fn any_account_equals_the_validator(
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
    fn amounts_equal_the_validator(amount: u64, decimals: u8, shift in 0u32..64) {
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

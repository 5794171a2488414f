//! Every extension of Token-2022 that the interface knows, built from the interface's own types,
//! and how jsonParsed shows it.

use primitives::token::TOKEN_2022_PROGRAM;
use serde_json::{Value, json};
use solana_pubkey::Pubkey as Address;
use spl_token_2022_interface::extension::non_transferable::NonTransferable;
use spl_token_2022_interface::extension::permissioned_burn::PermissionedBurnConfig;
use spl_token_2022_interface::extension::{
    BaseStateWithExtensionsMut, ExtensionType, StateWithExtensionsMut,
};
use spl_token_2022_interface::state::{Account, AccountState, Mint};
use store::AccountUpdate;
use wire::account_json::{Encoding, View};
use wire::reads::{self, Outcome, ReadLimits};

const MINT: [u8; 32] = [1; 32];
const HOLDER: [u8; 32] = [2; 32];
/// Bytes of a base account, of the type after it, and of type and length before an extension.
const HEAD_BYTES: usize = 165 + 1 + 4;
const DECIMALS: u8 = 18;

fn address(byte: u8) -> Address {
    Address::from([byte; 32])
}

fn text(byte: u8) -> String {
    address(byte).to_string()
}

fn base64(byte: u8, count: usize) -> String {
    base64_simd::STANDARD.encode_to_string(vec![byte; count])
}

/// A mint with what `init` adds; the value of its extension has so many bytes.
fn mint_of(
    value_bytes: usize,
    init: impl FnOnce(&mut StateWithExtensionsMut<'_, Mint>),
) -> Vec<u8> {
    let mut data = vec![0; HEAD_BYTES + value_bytes];
    let mut state = StateWithExtensionsMut::<Mint>::unpack_uninitialized(&mut data).unwrap();
    init(&mut state);
    state.base = Mint {
        decimals: DECIMALS,
        is_initialized: true,
        ..Mint::default()
    };
    state.pack_base();
    state.init_account_type().unwrap();
    data
}

fn mint(kind: ExtensionType, init: impl FnOnce(&mut StateWithExtensionsMut<'_, Mint>)) -> Vec<u8> {
    let bytes = ExtensionType::try_calculate_account_len::<Mint>(&[kind]).unwrap();
    mint_of(bytes - HEAD_BYTES, init)
}

fn account(
    kind: ExtensionType,
    init: impl FnOnce(&mut StateWithExtensionsMut<'_, Account>),
) -> Vec<u8> {
    let bytes = ExtensionType::try_calculate_account_len::<Account>(&[kind]).unwrap();
    let mut data = vec![0; bytes];
    let mut state = StateWithExtensionsMut::<Account>::unpack_uninitialized(&mut data).unwrap();
    init(&mut state);
    state.base = Account {
        mint: Address::from(MINT),
        owner: address(9),
        state: AccountState::Initialized,
        ..Account::default()
    };
    state.pack_base();
    state.init_account_type().unwrap();
    data
}

/// A row of a table: the type, the account with that extension, its name and its state.
type Row = (ExtensionType, Vec<u8>, &'static str, Value);

/// A row: `mint` or `account`, the type, the value of the interface, the name and the state.
macro_rules! row {
    ($base:ident, $kind:ident: $value:expr => $name:literal, $($state:tt)+) => {{
        let kind = ExtensionType::$kind;
        let data = $base(kind, |state| *state.init_extension(true).unwrap() = $value);
        (kind, data, $name, json!($($state)+))
    }};
}

mod accounts;
mod mints;

fn update(pubkey: [u8; 32], data: Vec<u8>) -> AccountUpdate {
    AccountUpdate {
        is_signed: false,
        pubkey,
        lamports: 1,
        rent_epoch: 0,
        executable: false,
        owner: TOKEN_2022_PROGRAM,
        data,
    }
}

/// The extensions that jsonParsed shows.
fn shown(data: Vec<u8>) -> Value {
    let plain = mint_of(0, |state| {
        state.init_extension::<NonTransferable>(true).unwrap();
    });
    let accounts = vec![update(MINT, plain), update(HOLDER, data)];
    let (_dir, store) = fixtures::store_of(accounts, 1);
    let view = View {
        encoding: Encoding::JsonParsed,
        slice: None,
    };
    let mut out = Vec::new();
    let snapshot = store.snapshot().unwrap();
    let ended = reads::account_info(&snapshot, &HOLDER, view, &ReadLimits::NONE, &mut out);
    assert_eq!(ended.unwrap(), Outcome::Written);
    let mut reply: Value = serde_json::from_slice(&out).unwrap();
    reply["value"]["data"]["parsed"]["info"]["extensions"].take()
}

fn rows() -> Vec<Row> {
    [accounts::rows(), mints::rows(), mints::confidential_rows()].concat()
}

#[test]
fn every_extension_is_shown_with_its_state() {
    for (kind, data, name, state) in rows() {
        let mut expected = json!({"extension": name});
        if !state.is_null() {
            expected["state"] = state;
        }
        assert_eq!(shown(data), json!([expected]), "{kind:?}");
    }
}

#[test]
fn the_table_has_every_extension_of_the_interface() {
    let known = (1..=u16::MAX).filter(|kind| ExtensionType::try_from(*kind).is_ok());
    let mut tested = rows()
        .iter()
        .map(|row| u16::from(row.0))
        .collect::<Vec<_>>();
    tested.sort_unstable();
    tested.dedup();
    assert_eq!(tested, known.collect::<Vec<_>>());
}

/// A list with a type that the interface does not know, or that ends within a value, has no
/// readable end: as in the validator none of it is shown, and the mint still is.
#[test]
fn an_unreadable_list_is_left_out() {
    let burn = ExtensionType::PermissionedBurn;
    let whole = mint(burn, |state| {
        state
            .init_extension::<PermissionedBurnConfig>(true)
            .unwrap();
    });
    let unknown = [&whole[..], &[0xff, 0x7f, 0, 0]].concat();
    let cut = whole[..whole.len() - 1].to_vec();
    for data in [unknown, cut] {
        assert_eq!(shown(data), Value::Null);
    }
}

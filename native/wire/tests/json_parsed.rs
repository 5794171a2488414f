//! Real jsonParsed replies with known raw bytes, and raw Token-2022 accounts with known extensions.

use primitives::encoding::decode_pubkey;
use primitives::token::{
    MINT_BYTES, NATIVE_MINT, TOKEN_2022_PROGRAM, TOKEN_PROGRAM, is_account, mint_of,
};
use serde_json::{Value, json};
use store::{AccountUpdate, Snapshot};
use wire::account_json::{Encoding, View};
use wire::reads::{self, Outcome, ReadLimits};

fn info(snapshot: &Snapshot<'_>, pubkey: &[u8; 32], encoding: Encoding) -> Value {
    let mut out = Vec::new();
    let view = View {
        encoding,
        slice: None,
    };
    let ended = reads::account_info(snapshot, pubkey, view, &ReadLimits::NONE, &mut out);
    assert_eq!(ended.unwrap(), Outcome::Written);
    serde_json::from_slice::<Value>(&out).unwrap()["value"].take()
}

fn mint(pubkey: [u8; 32], decimals: u8) -> AccountUpdate {
    let mut data = vec![0; MINT_BYTES];
    data[44..46].copy_from_slice(&[decimals, 1]);
    AccountUpdate {
        is_signed: false,
        pubkey,
        lamports: 1,
        rent_epoch: 0,
        executable: false,
        owner: TOKEN_PROGRAM,
        data,
    }
}

/// A mint for a token account without one, with the decimals of its reply.
fn mint_for(account: &AccountUpdate, reply: &Value) -> Option<AccountUpdate> {
    let mint_key = mint_of(&account.data).filter(|_| is_account(&account.data))?;
    let decimals = reply["data"]["parsed"]["info"]["tokenAmount"]["decimals"]
        .as_u64()
        .unwrap_or(9);
    Some(mint(*mint_key, decimals as u8))
}

/// Normalises `100.0` to `100`: the files use both.
fn whole(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), whole(value)))
            .collect(),
        Value::Array(items) => items.iter().map(whole).collect(),
        Value::Number(number) if number.is_f64() && number.as_f64().unwrap().fract() == 0.0 => {
            json!(number.as_f64().unwrap() as u64)
        }
        other => other.clone(),
    }
}

/// Keeps objects and arrays, and replaces values by their types, since values change between slots.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), shape(value)))
            .collect(),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Number(_) => json!(0),
        Value::String(_) => json!(""),
        other => other.clone(),
    }
}

#[test]
fn replies_equal_those_of_other_nodes() {
    let Some(files) = fixtures::files("json-parsed") else {
        return;
    };
    let mut compared = 0;
    for (name, file) in files {
        let (raw, mut reply) = (&file["raw"], file["parsed"].clone());
        let Some(pubkey) = file["pubkey"].as_str().filter(|_| raw["data"].is_array()) else {
            continue;
        };
        let account = fixtures::account(decode_pubkey(pubkey).unwrap(), raw);
        let pubkey = account.pubkey;
        let mint = mint_for(&account, &reply);
        let is_token = primitives::token::TokenProgram::of(&account.owner).is_some();
        let (_dir, store) =
            fixtures::store_of([Some(account), mint].into_iter().flatten().collect(), 1);
        let snapshot = store.snapshot().unwrap();
        if !is_token {
            // Only token accounts and mints parse (contract: parsed-accounts).
            reply["data"] = info(&snapshot, &pubkey, Encoding::Base64)["data"].take();
        }
        let ours = info(&snapshot, &pubkey, Encoding::JsonParsed);
        if raw["same_state"] == true {
            assert_eq!(whole(&ours), whole(&reply), "{name}");
        } else {
            assert_eq!(shape(&ours["data"]), shape(&reply["data"]), "{name}");
        }
        compared += 1;
    }
    assert!(compared >= 8, "only {compared} replies had raw bytes");
}

#[test]
fn extensions_keep_their_order() {
    let Some(files) = fixtures::files("token-2022") else {
        return;
    };
    let mut compared = 0;
    for (name, file) in files {
        let pubkey = file["pubkey"]
            .as_str()
            .map_or([1; 32], |text| decode_pubkey(text).unwrap());
        let account = fixtures::account(pubkey, &file);
        let mint = mint_for(&account, &Value::Null);
        let (_dir, store) =
            fixtures::store_of([Some(account), mint].into_iter().flatten().collect(), 1);
        let ours = info(&store.snapshot().unwrap(), &pubkey, Encoding::JsonParsed);
        let extensions = ours["data"]["parsed"]["info"]["extensions"]
            .as_array()
            .cloned();
        let names = extensions
            .unwrap_or_default()
            .iter()
            .map(|item| item["extension"].clone())
            .collect::<Vec<_>>();
        assert_eq!(json!(names), file["extensions"], "{name}");
        compared += 1;
    }
    assert!(compared >= 10, "only {compared} accounts");
}

#[test]
fn every_account_round_trips() {
    let Some(accounts) = fixtures::accounts() else {
        return;
    };
    let (_dir, store) = fixtures::store_of(accounts.clone(), 1);
    let snapshot = store.snapshot().unwrap();
    for account in accounts.iter().filter(|account| account.lamports > 0) {
        let plain = info(&snapshot, &account.pubkey, Encoding::Base64);
        let zipped = info(&snapshot, &account.pubkey, Encoding::Base64Zstd);
        let decode = |reply: &Value| {
            base64_simd::STANDARD
                .decode_to_vec(reply["data"][0].as_str().unwrap())
                .unwrap()
        };
        assert!(decode(&plain) == account.data);
        assert!(zstd::decode_all(decode(&zipped).as_slice()).unwrap() == account.data);
        assert_eq!(plain["rentEpoch"], account.rent_epoch);
        assert_eq!(plain["lamports"], account.lamports);
        assert_eq!(plain["space"], account.data.len());
    }
}

#[test]
fn wrapped_sol_by_address_reads_its_mint() {
    let mut data = vec![0; 165];
    data[..32].copy_from_slice(&NATIVE_MINT);
    data[108] = 1;
    let account = AccountUpdate {
        is_signed: false,
        data,
        pubkey: [1; 32],
        ..mint([1; 32], 0)
    };
    let (_dir, store) = fixtures::store_of(vec![account.clone()], 1);
    let without = info(&store.snapshot().unwrap(), &[1; 32], Encoding::JsonParsed);
    assert_eq!(without["data"][1], "base64");
    let (_dir, store) = fixtures::store_of(vec![account, mint(NATIVE_MINT, 9)], 1);
    let with = info(&store.snapshot().unwrap(), &[1; 32], Encoding::JsonParsed);
    assert_eq!(with["data"]["parsed"]["info"]["tokenAmount"]["decimals"], 9);
}

/// The rows of a table, without its comments and header.
fn table(part: &str) -> Option<Vec<Vec<String>>> {
    let text = std::fs::read_to_string(fixtures::path(part)?).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    Some(
        rows.map(|row| row.split('\t').map(str::to_string).collect())
            .collect(),
    )
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    hex.as_bytes().chunks_exact(2).map(byte).collect()
}

fn parsed_extensions(data: Vec<u8>) -> Vec<Value> {
    let account = AccountUpdate {
        is_signed: false,
        data,
        owner: TOKEN_2022_PROGRAM,
        ..mint([1; 32], 0)
    };
    let mint = mint_for(&account, &Value::Null);
    let accounts = [Some(account), mint].into_iter().flatten().collect();
    let (_dir, store) = fixtures::store_of(accounts, 1);
    let reply = info(&store.snapshot().unwrap(), &[1; 32], Encoding::JsonParsed);
    let parsed = &reply["data"]["parsed"]["info"];
    assert!(parsed.is_object());
    parsed["extensions"].as_array().cloned().unwrap_or_default()
}

#[test]
fn every_extension_has_its_name() {
    let Some(rows) = table("token-2022/solana-token2022-extensions.tsv") else {
        return;
    };
    for row in rows {
        let [ordinal, name, account_type, _, _, value, ..] = row.as_slice() else {
            panic!("{row:?}")
        };
        let (kind, mut data) = match account_type.as_str() {
            "Mint" => (1, mint([0; 32], 6).data),
            "Account" => (2, {
                let mut data = vec![0; 165];
                data[108] = 1;
                data
            }),
            _ => continue,
        };
        let (ordinal, value) = (ordinal.parse::<u16>().unwrap(), bytes_of(value));
        data.resize(165, 0);
        data.push(kind);
        data.extend(
            [
                &ordinal.to_le_bytes()[..],
                &(value.len() as u16).to_le_bytes(),
                &value,
            ]
            .concat(),
        );
        let extensions = parsed_extensions(data);
        let shown = extensions[0]["extension"].as_str().unwrap();
        assert!(
            shown.to_lowercase().starts_with(&name.to_lowercase()),
            "{name} is shown as {shown}"
        );
        assert_eq!(extensions[0]["state"].is_null(), value.is_empty(), "{name}");
    }
}

#[test]
fn multiple_extensions() {
    let Some(rows) = table("token-2022/solana-token2022-accounts.tsv") else {
        return;
    };
    let extensions = rows
        .iter()
        .map(|row| parsed_extensions(bytes_of(&row[5])))
        .collect::<Vec<_>>();
    assert_eq!(extensions.iter().map(Vec::len).collect::<Vec<_>>(), [7, 6]);
    // Agave 3.1 shows none of the seven, because it does not know one of them.
    let burn = |item: &Value| item["extension"] == "permissionedBurnConfig";
    assert!(extensions[0].iter().any(burn));
}

//! Compares replies with those of a real Agave 3.1 for the fixture accounts, by value.
//! [`expected_error`] and [`as_contract`] list every difference that the contract makes.

#![allow(clippy::too_many_lines, reason = "one comparison")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use primitives::encoding::{decode_pubkey, encode_pubkey};
use primitives::token::{MINT_BYTES, NATIVE_MINT, TOKEN_PROGRAM, TokenProgram};
use serde_json::{Value, json};
use store::{AccountUpdate, Budget, OwnerFilter, OwnerQuery, ProgramQuery, Snapshot};
use sys::error::{Error, Result};
use wire::account_json::{DataSlice, Encoding, View};
use wire::reads::{self, Outcome, PageView, ReadLimits};

const SLOT: u64 = 120;

/// `None` where checks outside this crate reject the options.
fn view_of(options: &Value) -> Option<View> {
    let encoding = options["encoding"].as_str().unwrap_or("base64");
    let slice = match &options["dataSlice"] {
        Value::Null => None,
        slice => Some(DataSlice {
            offset: slice["offset"].as_u64()?,
            length: slice["length"].as_u64()?,
        }),
    };
    let is_object = options.is_object() || options.is_null();
    Some(View {
        encoding: Encoding::of_name(encoding.as_bytes())?,
        slice,
    })
    .filter(|_| is_object)
}

fn point_read(
    snapshot: &Snapshot<'_>,
    method: &str,
    params: &Value,
    out: &mut Vec<u8>,
) -> Option<Result<Outcome>> {
    let none = &ReadLimits::NONE;
    let view = view_of(&params[1])?;
    let key = match decode_pubkey(params[0].as_str()?) {
        Ok(key) => key,
        Err(error) => return Some(Err(error)),
    };
    Some(match method {
        "getAccountInfo" => reads::account_info(snapshot, &key, view, none, out),
        "getTokenAccountBalance" => reads::token_account_balance(snapshot, &key, None, none, out),
        "getTokenSupply" => reads::token_supply(snapshot, &key, None, none, out),
        "getTokenLargestAccounts" => reads::token_largest_accounts(snapshot, &key, none, out),
        _ => return None,
    })
}

fn page(
    snapshot: &Snapshot<'_>,
    method: &str,
    params: &Value,
    out: &mut Vec<u8>,
) -> Option<Result<()>> {
    let key = decode_pubkey(params[0].as_str()?).ok()?;
    let mut budget = Budget::until(Instant::now() + Duration::from_secs(60));
    let options = &params[if method == "getProgramAccounts" { 1 } else { 2 }];
    let page = PageView {
        view: view_of(options)?,
        reply_bytes_max: usize::MAX,
    };
    let limit = 10_000;
    Some(match method {
        "getProgramAccounts" if options["filters"].is_null() => {
            let query = ProgramQuery {
                program: key,
                filters: Vec::new(),
                limit,
                after: None,
                changed_since: None,
            };
            reads::program_accounts(snapshot, &query, &page, &mut budget, out)
        }
        "getTokenAccountsByOwner" if params[1].as_object()?.len() == 1 => {
            let id = decode_pubkey(params[1]["programId"].as_str()?).ok()?;
            let filter = OwnerFilter::Program(TokenProgram::of(&id)?);
            let query = OwnerQuery {
                wallet: key,
                filter,
                limit,
                after: None,
            };
            reads::token_accounts_by_owner(snapshot, &query, &page, &mut budget, out)
        }
        _ => return None,
    })
}

/// Our `value`, or the name of our error; `None` where this crate does not check the parameters.
fn ours(snapshot: &Snapshot<'_>, method: &str, params: &Value) -> Option<Result<Value>> {
    if method == "getAccountInfo" && params.as_array()?.len() > 2 {
        return None;
    }
    let mut out = Vec::new();
    let ended = match method {
        "getMultipleAccounts" => {
            let texts: Option<Vec<&str>> =
                params[0].as_array()?.iter().map(Value::as_str).collect();
            let keys = primitives::encoding::decode_pubkeys(&texts?);
            let view = view_of(&params[1])?;
            keys.and_then(|keys| reads::stream_accounts(snapshot, &keys, view, &mut out))
        }
        "getProgramAccounts" | "getTokenAccountsByOwner" => {
            page(snapshot, method, params, &mut out)?
        }
        _ => point_read(snapshot, method, params, &mut out)?.map(|_| ()),
    };
    Some(ended.map(|()| {
        let mut reply: Value = serde_json::from_slice(&out).unwrap();
        if method == "getProgramAccounts" {
            return by_pubkey(&reply["accounts"]);
        }
        assert_eq!(
            reply["context"],
            json!({"slot": SLOT}),
            "context of {method} {params}"
        );
        match method {
            "getTokenAccountsByOwner" => only_parsed(by_pubkey(&reply["value"]["accounts"])),
            _ => reply["value"].take(),
        }
    }))
}

/// The rows of a page, sorted.
fn by_pubkey(rows: &Value) -> Value {
    let rows = rows.as_array().unwrap().iter();
    let rows = rows.map(|row| (row["pubkey"].as_str().unwrap(), &row["account"]));
    json!(rows.collect::<BTreeMap<_, _>>())
}

/// Drops accounts that only the validator has.
fn only_known(mut rows: Value, known: &BTreeSet<String>) -> Value {
    rows.as_object_mut()
        .unwrap()
        .retain(|pubkey, _| known.contains(pubkey));
    rows
}

/// A page never loses a row (contract: parsed-accounts): Agave drops accounts that do not parse,
/// this service returns them as base64.
fn only_parsed(mut rows: Value) -> Value {
    rows.as_object_mut()
        .unwrap()
        .retain(|_, account| account["data"][1] != "base64");
    rows
}

fn expected_error(method: &str, message: &str) -> &'static str {
    match (method, message) {
        (_, "Invalid param: WrongSize") => "pubkeySize",
        // The contract includes the key: `could not decode pubkey <value>`.
        (_, "Invalid param: Invalid") => "pubkeyDecode",
        (_, "Invalid param: could not find account") => "accountMissing",
        (_, "Invalid param: could not find mint") => "mintMissing",
        (_, "Invalid param: not a Token account") => "notTokenAccount",
        (_, "Invalid param: not a Token mint") => "notTokenMint",
        // All accounts that are not mints are `not a Token mint` (contract: largest-holders).
        ("getTokenSupply", "Invalid param: mint could not be unpacked")
        | ("getTokenLargestAccounts", "Invalid param: Token mint could not be unpacked") => {
            "notTokenMint"
        }
        (_, "Invalid param: Token mint could not be unpacked") => "mintUnpack",
        (_, message) if message.starts_with("Encoded binary (base 58)") => "base58TooLong",
        (_, message) => panic!("{method}: an error of Agave that has no counterpart: {message}"),
    }
}

/// Contract: only token accounts and mints parse; every other account falls back to base64.
fn as_contract(mut account: Value, raw: &Value) -> Value {
    let parsed = &account["data"]["parsed"];
    let is_token = matches!(
        account["data"]["program"].as_str(),
        Some("spl-token" | "spl-token-2022")
    );
    if parsed.is_object()
        && !(is_token && matches!(parsed["type"].as_str(), Some("account" | "mint")))
    {
        account["data"] = raw["data"].clone();
    }
    account
}

fn native_mint() -> AccountUpdate {
    let mut data = vec![0; MINT_BYTES];
    data[44..46].copy_from_slice(&[9, 1]);
    AccountUpdate {
        is_signed: false,
        pubkey: NATIVE_MINT,
        lamports: 1_000_000_000,
        rent_epoch: 1,
        executable: false,
        owner: TOKEN_PROGRAM,
        data,
    }
}

#[test]
fn replies_equal_agave() {
    let (Some(mut accounts), Some(replies)) = (
        fixtures::accounts(),
        fixtures::path("agave/replies.jsonl.gz"),
    ) else {
        return;
    };
    // The validator has it since genesis.
    accounts.push(native_mint());
    let known = accounts
        .iter()
        .map(|account| encode_pubkey(&account.pubkey))
        .collect::<BTreeSet<_>>();
    let (_dir, store) = fixtures::store_of(accounts, SLOT);
    let snapshot = store.snapshot().unwrap();
    let raw = |key: &str| {
        ours(&snapshot, "getAccountInfo", &json!([key]))
            .unwrap()
            .unwrap()
    };
    let (mut compared, mut differences) = (0, Vec::new());
    for line in BufReader::new(GzDecoder::new(File::open(replies).unwrap())).lines() {
        let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let (Some(method), params) = (record["method"].as_str(), &record["params"]) else {
            continue;
        };
        let Some(ours) = ours(&snapshot, method, params) else {
            continue;
        };
        if params[0] == encode_pubkey(&TOKEN_PROGRAM) && !method.ends_with("ProgramAccounts") {
            continue; // The validator has this program too.
        }
        if params[0].as_array().is_some_and(|keys| keys.len() > 100) {
            // No maximum count (contract: multiple-accounts).
            assert!(ours.is_ok(), "{method} {params}");
            continue;
        }
        let theirs: Value = serde_json::from_str(record["reply"].as_str().unwrap()).unwrap();
        let reply = &theirs["result"];
        let expected = match theirs["error"]["message"].as_str() {
            Some(message) => Err(expected_error(method, message)),
            None => Ok(match method {
                "getProgramAccounts" => only_known(by_pubkey(reply), &known),
                "getTokenAccountsByOwner" => by_pubkey(&reply["value"]),
                "getAccountInfo" if reply["value"].is_object() => {
                    as_contract(reply["value"].clone(), &raw(params[0].as_str().unwrap()))
                }
                _ => reply["value"].clone(),
            }),
        };
        compared += 1;
        let ours = ours.map_err(|error: Error| error.name());
        if ours != expected {
            differences.push(format!(
                "{method} {params}\n  ours  {ours:.300?}\n  agave {expected:.300?}"
            ));
        }
    }
    println!("{compared} replies compared");
    assert!(
        differences.is_empty(),
        "{} differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
    assert!(compared > 2_200, "only {compared} replies compared");
}

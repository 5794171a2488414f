mod properties;
mod recent;
mod tables;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::*;
use crate::account_json::{DataSlice, Encoding, View};
use crate::reads::{self, Commitment, Outcome, ReadLimits, Wanted};
use primitives::Pubkey;
use primitives::encoding::{decode_pubkey, decode_pubkeys, encode_pubkey};
use primitives::token::TOKEN_PROGRAM;
use store::Store;
use store::{AccountUpdate, Block, Options, Snapshot};
use sys::error::Result;

const MINT: Pubkey = [7; 32];
const HOLDER: Pubkey = [10; 32];
const LARGE: Pubkey = [11; 32];

fn open() -> (TempDir, Store) {
    let mut mint = vec![0; 82];
    mint[44..46].copy_from_slice(&[2, 1]);
    let mut holder = [&MINT[..], &[3; 32], &150u64.to_le_bytes(), &[0; 93]].concat();
    holder[108] = 1;
    let account = |pubkey, owner, data| AccountUpdate {
        is_signed: false,
        pubkey,
        lamports: 1,
        rent_epoch: u64::MAX,
        executable: false,
        owner,
        data,
    };
    let accounts = vec![
        account(MINT, TOKEN_PROGRAM, mint),
        account(HOLDER, TOKEN_PROGRAM, holder),
        account(LARGE, [5; 32], vec![1; 300_000]),
    ];
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        map_bytes: 1 << 26,
        disk_reserve_bytes: 0,
        ..Options::default()
    };
    let store = Store::open_writer(dir.path(), &options).unwrap();
    store
        .apply(&Block {
            slot: 42,
            block_height: 40,
            accounts,
            ..Block::default()
        })
        .unwrap();
    // Two blocks after the newest finalized one.
    for slot in [43, 44] {
        store
            .apply(&Block {
                slot,
                parent_slot: slot - 1,
                parent_blockhash: [if slot == 43 { 0 } else { 43 }; 32],
                blockhash: [slot as u8; 32],
                block_height: slot - 2,
                root: Some(42),
                ..Block::default()
            })
            .unwrap();
    }
    (dir, store)
}

fn answered(store: &Store, body: &[u8]) -> Option<String> {
    let recent = &mut Recent::new(8);
    let first = answered_with(recent, store, body);
    assert_eq!(first, answered_with(recent, store, body), "the second time");
    first
}

fn answered_with(recent: &mut Recent, store: &Store, body: &[u8]) -> Option<String> {
    let mut out = b"kept".to_vec();
    let is_answered = answer(body, store, recent, &mut out);
    assert!(out.starts_with(b"kept"));
    assert_eq!(
        is_answered,
        out.len() > 4,
        "a declined request leaves nothing"
    );
    is_answered.then(|| String::from_utf8(out[4..].to_vec()).unwrap())
}

/// A reference for the general path: parses the body by serde_json, checks it, reads, and adds the
/// envelope. `None` where it would return an error, no reply, or a reply from a pool.
fn general(store: &Store, body: &[u8]) -> Option<String> {
    let body: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let id = body.get("id")?.to_string();
    let method = body.get("method")?.as_str()?;
    let params = body.get("params").cloned().unwrap_or_else(|| json!([]));
    if body.get("jsonrpc")? != "2.0" {
        return None;
    }
    let mut out = Vec::new();
    match read(
        &store.snapshot().unwrap(),
        method,
        params.as_array()?,
        &mut out,
    )? {
        Ok(Outcome::Written) => {
            let result = String::from_utf8(out).unwrap();
            Some(format!(
                r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#
            ))
        }
        _ => None,
    }
}

fn read(
    snapshot: &Snapshot<'_>,
    method: &str,
    params: &[Value],
    out: &mut Vec<u8>,
) -> Option<Result<Outcome>> {
    let limits = &ReadLimits::default();
    let null = Value::Null;
    let options = params.get(1).unwrap_or(&null);
    let since = || match &options["changedSinceSlot"] {
        Value::Null => Some(None),
        slot => slot.as_u64().map(Some),
    };
    let wanted = || {
        let encoding = options["encoding"].as_str().unwrap_or("base64");
        let slice = &options["dataSlice"];
        let slice = match slice {
            Value::Null => None,
            _ => Some(DataSlice {
                offset: slice["offset"].as_u64()?,
                length: slice["length"].as_u64()?,
            }),
        };
        let view = View {
            encoding: Encoding::of_name(encoding.as_bytes())?,
            slice,
        };
        Some(Wanted {
            view,
            changed_since: since()?,
        })
    };
    let key = || decode_pubkey(params.first()?.as_str()?).ok();
    if !options.is_null() && !options.is_object() {
        return None;
    }
    Some(match method {
        "getLatestBlockhash" => {
            let options = params.first().unwrap_or(&null);
            let commitment = match options["commitment"].as_str() {
                Some("confirmed" | "processed") => Commitment::Confirmed,
                _ => Commitment::Finalized,
            };
            let newest = if commitment == Commitment::Finalized {
                42
            } else {
                44
            };
            let min_slot = &options["minContextSlot"];
            if !min_slot.is_null() && min_slot.as_u64()? > newest {
                return None;
            }
            reads::latest_blockhash(snapshot, commitment, out).map(|()| Outcome::Written)
        }
        "getAccountInfo" => reads::account_info(snapshot, &key()?, wanted()?, limits, out),
        "getMultipleAccounts" => {
            let texts = params.first()?.as_array()?.iter().map(Value::as_str);
            let keys = decode_pubkeys(&texts.collect::<Option<Vec<_>>>()?).ok()?;
            reads::multiple_accounts(snapshot, &keys, wanted()?, limits, out)
        }
        "getTokenAccountBalance" => {
            reads::token_account_balance(snapshot, &key()?, since()?, limits, out)
        }
        "getTokenSupply" => reads::token_supply(snapshot, &key()?, since()?, limits, out),
        "getTokenLargestAccounts" => reads::token_largest_accounts(snapshot, &key()?, limits, out),
        _ => return None,
    })
}

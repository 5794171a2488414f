mod accounts;
mod pages;
mod tokens;
mod unchanged;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::common::*;
use super::*;
use crate::account_json::{DataSlice, Encoding, View};
use crate::reply::{CHUNK_BYTES, InFlight, Read, pipe};
use primitives::Pubkey;
use primitives::token::{
    CLOCK_SYSVAR, NATIVE_MINT, TOKEN_2022_PROGRAM, TOKEN_PROGRAM, TokenProgram,
};
use store::Snapshot;
use store::{
    AccountUpdate, Block, Budget, Options, OwnerFilter, OwnerQuery, ProgramQuery, Scope, Store,
};
use sys::error::{Error, Result};

const BASE64: View = View {
    encoding: Encoding::Base64,
    slice: None,
};
const PARSED: View = View {
    encoding: Encoding::JsonParsed,
    slice: None,
};
const MINT: Pubkey = [7; 32];
const WALLET: Pubkey = [3; 32];

fn account(key: u8, owner: Pubkey, data: Vec<u8>) -> AccountUpdate {
    AccountUpdate {
        is_signed: false,
        pubkey: [key; 32],
        lamports: 1,
        rent_epoch: 0,
        executable: false,
        owner,
        data,
    }
}

fn mint_data(decimals: u8, supply: u64) -> Vec<u8> {
    let mut mint = vec![0; 82];
    mint[36..44].copy_from_slice(&supply.to_le_bytes());
    mint[44] = decimals;
    mint[45] = 1;
    mint
}

/// A Token-2022 mint with one extension.
fn extended_mint(decimals: u8, kind: u16, value: &[u8]) -> Vec<u8> {
    let mut mint = mint_data(decimals, 1_000_000);
    mint.resize(165, 0);
    mint.push(1);
    mint.extend_from_slice(&kind.to_le_bytes());
    mint.extend_from_slice(&(value.len() as u16).to_le_bytes());
    mint.extend_from_slice(value);
    mint
}

fn token_data(mint: &Pubkey, amount: u64) -> Vec<u8> {
    let mut data = [&mint[..], &WALLET, &amount.to_le_bytes(), &[0; 93]].concat();
    data[108] = 1;
    data
}

fn open(accounts: Vec<AccountUpdate>, scope: Scope) -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        map_bytes: 1 << 30,
        disk_reserve_bytes: 0,
        scope,
        ..Options::default()
    };
    let store = Store::open_writer(dir.path(), &options).unwrap();
    let blockhash = [9; 32];
    store
        .apply(&Block {
            slot: 42,
            block_height: 40,
            blockhash,
            accounts,
            ..Block::default()
        })
        .unwrap();
    (dir, store)
}

fn value_of(ended: Result<Outcome>, out: &[u8]) -> Value {
    match ended {
        Ok(Outcome::Written) => {
            let reply: Value = serde_json::from_slice(out).unwrap();
            assert_eq!(reply["context"], json!({"slot": 42}));
            reply["value"].clone()
        }
        Ok(Outcome::TooLarge) => {
            assert!(out.is_empty());
            json!("too large")
        }
        Err(error) => {
            assert!(out.is_empty());
            json!(error.name())
        }
    }
}

fn token_account_balance(
    snapshot: &Snapshot<'_>,
    key: &Pubkey,
    limits: &ReadLimits,
    out: &mut Vec<u8>,
) -> Result<Outcome> {
    super::token_account_balance(snapshot, key, None, limits, out)
}

fn token_supply(
    snapshot: &Snapshot<'_>,
    key: &Pubkey,
    limits: &ReadLimits,
    out: &mut Vec<u8>,
) -> Result<Outcome> {
    super::token_supply(snapshot, key, None, limits, out)
}

type PointRead = fn(&Snapshot<'_>, &Pubkey, &ReadLimits, &mut Vec<u8>) -> Result<Outcome>;

fn point(snapshot: &Snapshot<'_>, read: PointRead, key: &Pubkey) -> Value {
    let mut out = Vec::new();
    let ended = read(snapshot, key, &ReadLimits::default(), &mut out);
    value_of(ended, &out)
}

fn info(snapshot: &Snapshot<'_>, key: &Pubkey, view: View) -> Value {
    let mut out = Vec::new();
    let limits = ReadLimits::default();
    let ended = account_info(snapshot, key, view, &limits, &mut out);
    value_of(ended, &out)
}

fn budget() -> Budget {
    Budget::until(Instant::now() + Duration::from_secs(60))
}

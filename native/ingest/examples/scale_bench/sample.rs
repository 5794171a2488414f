//! Samples of the set with their correct answers, for a process that queries an edge. The answers
//! are computed from the set, not read from the store.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use primitives::Pubkey;
use primitives::encoding::{encode_pubkey, push_base64};
use serde::Serialize;
use store::AccountUpdate;

use crate::data::{PROGRAM, Set, balance, key};
use crate::load::SLOT;
use crate::seeded::mix;

/// Each has different leaf pages: 10,000 of them exceed a processor's caches.
const TOKENS: u64 = 10_240;
const MINTS: u64 = 10_240;
const WALLETS: u64 = 5_120;
const PAGES: usize = 64;
const PAGE_ROWS: usize = 1_000;
/// Number of holders that getTokenLargestAccounts returns.
const HOLDERS: usize = 20;
/// Holders of a large mint kept before the small ones are discarded.
const HOLDERS_KEPT: usize = 4_096;

/// Pubkey, owner, lamports, data as base64.
type Row = (String, String, u64, String);

#[derive(Serialize)]
struct Mint {
    account: Row,
    /// Largest first; equal balances in descending order of addresses.
    holders: Vec<(String, u64)>,
}

#[derive(Serialize)]
struct Wallet {
    pubkey: String,
    /// In order of pubkeys.
    accounts: Vec<Row>,
}

#[derive(Serialize)]
struct Page {
    after: String,
    accounts: Vec<Row>,
}

#[derive(Serialize)]
struct Sample {
    slot: u64,
    program: String,
    tokens: Vec<Row>,
    mints: Vec<Mint>,
    /// Excludes the wallet with a fortieth of all token accounts.
    wallets: Vec<Wallet>,
    /// Pages of the program, each after a different account.
    pages: Vec<Page>,
}

fn row(account: &AccountUpdate) -> Row {
    let mut data = Vec::new();
    push_base64(&mut data, &account.data);
    let data = String::from_utf8(data).expect("base64");
    let (pubkey, owner) = (
        encode_pubkey(&account.pubkey),
        encode_pubkey(&account.owner),
    );
    (pubkey, owner, account.lamports, data)
}

/// Up to `wanted` numbers below `count`, one from each of `wanted` equal parts.
fn spread(count: u64, wanted: u64) -> impl Iterator<Item = u64> {
    let parts = wanted.min(count);
    (0..parts).map(move |nth| {
        let (first, next) = (nth * count / parts, (nth + 1) * count / parts);
        first + mix(nth) % (next - first)
    })
}

fn keep_largest(holders: &mut Vec<(u64, Pubkey)>) {
    holders.sort_unstable_by_key(|&holder| Reverse(holder));
    holders.truncate(HOLDERS);
}

/// Each mint's largest holders and each wallet's token accounts, in one pass over the set.
fn relations(set: &Set) -> (Vec<Mint>, Vec<Wallet>) {
    let mints: Vec<u64> = spread(set.mints, MINTS).collect();
    let wallets: Vec<u64> = spread(set.wallets - 1, WALLETS).map(|n| n + 1).collect();
    let mut holders: HashMap<u64, Vec<(u64, Pubkey)>> =
        mints.iter().map(|&n| (n, Vec::new())).collect();
    let mut owned: HashMap<u64, Vec<u64>> = wallets.iter().map(|&n| (n, Vec::new())).collect();
    for i in 0..set.tokens {
        if let Some(holders) = holders.get_mut(&set.mint_of(i)) {
            holders.push((balance(i, 0), set.token_key(i)));
            if holders.len() == HOLDERS_KEPT {
                keep_largest(holders);
            }
        }
        if let Some(owned) = owned.get_mut(&set.wallet_of(i)) {
            owned.push(i);
        }
    }
    let mint = |n: u64| {
        let mut holders = holders.remove(&n).unwrap_or_default();
        keep_largest(&mut holders);
        Mint {
            account: row(&set.mint(n)),
            holders: holders
                .iter()
                .map(|(amount, pubkey)| (encode_pubkey(pubkey), *amount))
                .collect(),
        }
    };
    let wallet = |n: u64| {
        let mut accounts = owned.remove(&n).unwrap_or_default();
        accounts.sort_unstable_by_key(|&i| set.token_key(i));
        Wallet {
            pubkey: encode_pubkey(&key(2, n)),
            accounts: accounts.iter().map(|&i| row(&set.token(i, 0))).collect(),
        }
    };
    (
        mints.into_iter().map(mint).collect(),
        wallets.into_iter().map(wallet).collect(),
    )
}

/// Pages that start across the whole program, in scattered order: neighbours would share cached
/// rows.
fn pages(set: &Set) -> Vec<Page> {
    let mut accounts: Vec<(Pubkey, u64)> = (0..set.of_program)
        .map(|i| (set.program_account(i).pubkey, i))
        .collect();
    accounts.sort_unstable();
    let last = accounts.len().saturating_sub(PAGE_ROWS + 1);
    (0..PAGES)
        .map(|nth| nth * 37 % PAGES)
        .filter_map(|page| accounts.get(page * last / PAGES..)?.split_first())
        .map(|((after, _), rest)| Page {
            after: encode_pubkey(after),
            accounts: rest
                .iter()
                .take(PAGE_ROWS)
                .map(|&(_, i)| row(&set.program_account(i)))
                .collect(),
        })
        .collect()
}

pub fn write(path: &Path, set: &Set) {
    let (mints, wallets) = relations(set);
    let sample = Sample {
        slot: SLOT,
        program: encode_pubkey(&PROGRAM),
        tokens: spread(set.tokens, TOKENS)
            .map(|i| row(&set.token(i, 0)))
            .collect(),
        mints,
        wallets,
        pages: pages(set),
    };
    let mut out = BufWriter::new(File::create(path).expect("a file"));
    serde_json::to_writer(&mut out, &sample).expect("space on the disk");
    out.flush().expect("space on the disk");
}

//! Members of the set with the answers that are right for them, for a process that asks an edge.
//! Everything comes from the set, nothing from the store.

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

/// Each leads to leaves of its own: 10,000 of them are more than a processor's caches hold.
const TOKENS: u64 = 10_240;
const MINTS: u64 = 10_240;
const WALLETS: u64 = 5_120;
const PAGES: usize = 64;
const PAGE_ROWS: usize = 1_000;
/// What getTokenLargestAccounts returns.
const HOLDERS: usize = 20;
/// Of a mint with millions of holders only so many are kept before the small ones go.
const HOLDERS_KEPT: usize = 4_096;

/// Pubkey, owner, lamports, data as base64.
type Row = (String, String, u64, String);

#[derive(Serialize)]
struct Mint {
    account: Row,
    /// The largest first, of equal ones the higher address.
    holders: Vec<(String, u64)>,
}

#[derive(Serialize)]
struct Wallet {
    pubkey: String,
    /// In the order of their pubkeys.
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
    /// Without the one that has a fortieth of all token accounts.
    wallets: Vec<Wallet>,
    /// Of the program, each after another of its accounts.
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

/// Up to `wanted` numbers below `count`, one from each of as many equal parts.
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

/// Each mint's largest holders and each wallet's token accounts, by one walk over the set.
fn relations(set: &Set) -> (Vec<Mint>, Vec<Wallet>) {
    let mints: Vec<u64> = spread(set.mints, MINTS).collect();
    let wallets: Vec<u64> = spread(set.wallets - 1, WALLETS).map(|n| n + 1).collect();
    let mut holders: HashMap<u64, Vec<(u64, Pubkey)>> =
        mints.iter().map(|&n| (n, Vec::new())).collect();
    let mut held: HashMap<u64, Vec<u64>> = wallets.iter().map(|&n| (n, Vec::new())).collect();
    for i in 0..set.tokens {
        if let Some(holders) = holders.get_mut(&set.mint_of(i)) {
            holders.push((balance(i, 0), set.token_key(i)));
            if holders.len() == HOLDERS_KEPT {
                keep_largest(holders);
            }
        }
        if let Some(held) = held.get_mut(&set.wallet_of(i)) {
            held.push(i);
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
        let mut accounts = held.remove(&n).unwrap_or_default();
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

/// Pages that begin all over the program, not in their order: neighbours would find each other's
/// rows in the caches.
fn pages(set: &Set) -> Vec<Page> {
    let mut accounts: Vec<(Pubkey, u64)> = (0..set.of_program)
        .map(|i| (set.program_account(i).pubkey, i))
        .collect();
    accounts.sort_unstable();
    let last = accounts.len().saturating_sub(PAGE_ROWS + 1);
    (0..PAGES)
        .map(|nth| nth * 37 % PAGES)
        .filter_map(|place| accounts.get(place * last / PAGES..)?.split_first())
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
    serde_json::to_writer(&mut out, &sample).expect("room on the disk");
    out.flush().expect("room on the disk");
}

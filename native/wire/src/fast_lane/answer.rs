//! Writes whole replies.

use super::method::Method;
use super::recent::{Key, Recent};
use super::request::{Read, Request, recognise};
use crate::reads::{self, Outcome, ReadLimits};
use store::{Snapshot, Store};
use sys::error::Result;

/// Appends the whole JSON-RPC reply and returns true, or appends nothing and returns false.
pub fn answer(body: &[u8], store: &Store, recent: &mut Recent, out: &mut Vec<u8>) -> bool {
    answer_method(body, store, recent, Blockhashes::Answered, out).is_some()
}

/// Whether the lane answers getLatestBlockhash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blockhashes {
    Answered,
    /// The feed has been silent for too long: the general path refuses.
    Declined,
}

/// Like [`answer`], but returns the method, for metrics. `recent` must belong to this store.
pub fn answer_method(
    body: &[u8],
    store: &Store,
    recent: &mut Recent,
    blockhashes: Blockhashes,
    out: &mut Vec<u8>,
) -> Option<Method> {
    let request = recognise(body)?;
    if blockhashes == Blockhashes::Declined && matches!(request.read, Read::LatestBlockhash(..)) {
        return None;
    }
    let start = out.len();
    let is_answered = matches!(write(&request, store, recent, out), Ok(Outcome::Written));
    if !is_answered {
        out.truncate(start);
        return None;
    }
    Some(request.read.method())
}

fn write(
    request: &Request<'_>,
    store: &Store,
    recent: &mut Recent,
    out: &mut Vec<u8>,
) -> Result<Outcome> {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"result\":");
    let key = Key::of(&request.read);
    let known = key.and_then(|key| recent.get(&key, store.last_commit()));
    let outcome = if let Some(result) = known {
        out.extend_from_slice(result);
        Outcome::Written
    } else {
        let snapshot = store.snapshot()?;
        let start = out.len();
        let outcome = write_result(&request.read, &snapshot, out)?;
        if let (Some(key), Outcome::Written) = (key, &outcome) {
            recent.put(key, snapshot.commit(), out.get(start..).unwrap_or_default());
        }
        outcome
    };
    out.extend_from_slice(b",\"id\":");
    out.extend_from_slice(request.id);
    out.push(b'}');
    Ok(outcome)
}

fn write_result(read: &Read<'_>, snapshot: &Snapshot<'_>, out: &mut Vec<u8>) -> Result<Outcome> {
    let limits = ReadLimits::default();
    match read {
        Read::LatestBlockhash(commitment, min_slot) => {
            // Too early: the general path refuses.
            if *min_slot > 0 && commitment.block(snapshot)?.slot < *min_slot {
                return Ok(Outcome::TooLarge);
            }
            reads::latest_blockhash(snapshot, *commitment, out).map(|()| Outcome::Written)
        }
        Read::AccountInfo(pubkey, wanted) => {
            reads::account_info(snapshot, pubkey, *wanted, &limits, out)
        }
        Read::MultipleAccounts(addresses, wanted) => {
            let mut pubkeys = [[0; 32]; reads::ADDRESSES_AT_ONCE_MAX];
            match addresses
                .decode(&mut pubkeys)
                .and_then(|count| pubkeys.get(..count))
            {
                Some(pubkeys) => reads::multiple_accounts(snapshot, pubkeys, *wanted, &limits, out),
                None => Ok(Outcome::TooLarge),
            }
        }
        Read::TokenAccountBalance(pubkey, since) => {
            reads::token_account_balance(snapshot, pubkey, *since, &limits, out)
        }
        Read::TokenSupply(mint, since) => reads::token_supply(snapshot, mint, *since, &limits, out),
        Read::TokenLargestAccounts(mint) => {
            reads::token_largest_accounts(snapshot, mint, &limits, out)
        }
    }
}

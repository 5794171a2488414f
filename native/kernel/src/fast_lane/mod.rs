//! The fast lane (design §3): from the bytes of a request to the bytes of its reply, for single point reads in
//! canonical form. It never answers an error; whatever it does not recognise takes the ordinary way, which
//! writes the same bytes through the same reads.

mod cursor;
mod request;

use request::{Read, Request};

use crate::error::Result;
use crate::reads::{self, Limits, Outcome};
use crate::store::Store;

/// The methods of the lane. Their numbers are those at the native boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    LatestBlockhash = 0,
    AccountInfo = 1,
    MultipleAccounts = 2,
    TokenAccountBalance = 3,
    TokenSupply = 4,
    TokenLargestAccounts = 5,
}

/// Appends the whole JSON-RPC reply and answers true, or appends nothing and answers false.
pub fn answer(body: &[u8], store: &Store, out: &mut Vec<u8>) -> bool {
    answer_method(body, store, out).is_some()
}

/// Like [`answer`], and says what was answered, for whoever counts.
pub fn answer_method(body: &[u8], store: &Store, out: &mut Vec<u8>) -> Option<Method> {
    let request = request::recognise(body)?;
    let start = out.len();
    let is_answered = matches!(write(&request, store, out), Ok(Outcome::Written));
    if !is_answered {
        out.truncate(start);
        return None;
    }
    Some(request.read.method())
}

fn write(request: &Request<'_>, store: &Store, out: &mut Vec<u8>) -> Result<Outcome> {
    let limits = Limits::default();
    let snapshot = &store.snapshot()?;
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"result\":");
    let outcome = match &request.read {
        Read::LatestBlockhash => reads::latest_blockhash(snapshot, out).map(|()| Outcome::Written),
        Read::AccountInfo(pubkey, view) => {
            reads::account_info(snapshot, pubkey, *view, &limits, out)
        }
        Read::MultipleAccounts(addresses, view) => {
            let mut pubkeys = [[0; 32]; reads::ADDRESSES_AT_ONCE_MAX];
            match addresses
                .decode(&mut pubkeys)
                .and_then(|count| pubkeys.get(..count))
            {
                Some(pubkeys) => reads::multiple_accounts(snapshot, pubkeys, *view, &limits, out),
                None => Ok(Outcome::TooLarge),
            }
        }
        Read::TokenAccountBalance(pubkey) => {
            reads::token_account_balance(snapshot, pubkey, &limits, out)
        }
        Read::TokenSupply(mint) => reads::token_supply(snapshot, mint, &limits, out),
        Read::TokenLargestAccounts(mint) => {
            reads::token_largest_accounts(snapshot, mint, &limits, out)
        }
    };
    out.extend_from_slice(b",\"id\":");
    out.extend_from_slice(request.id);
    out.push(b'}');
    outcome
}

#[cfg(test)]
mod tests;

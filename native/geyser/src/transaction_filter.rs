//! One filter of transactions: which transactions of a slot it lets through.

use std::collections::HashSet;

use primitives::Pubkey;
use primitives::encoding::decode_long_base58;
use tonic::Status;
use yellowstone_grpc_proto::cuckoo::CuckooFilter;
use yellowstone_grpc_proto::geyser::SubscribeRequestFilterTransactions;

use crate::account_filter::parse_cuckoo;
use crate::content::{Content, Transaction};
use crate::keys::Keys;
use crate::status::invalid_filter;

/// What the feed of a network has of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kept {
    #[default]
    None,
    /// Whole ones, without votes.
    Full,
    FullAndVotes,
}

impl Kept {
    /// By the name that the configuration has for it.
    pub fn of_feed(transactions: &str) -> Kept {
        match transactions {
            "full" => Kept::Full,
            "fullAndVotes" => Kept::FullAndVotes,
            _ => Kept::None,
        }
    }
}

/// A filter of transactions. Its fields are joined by AND; a cuckoo filter adds to the list of
/// accounts of which a transaction names any.
#[derive(Debug)]
pub struct TransactionFilter {
    is_vote: Option<bool>,
    has_failed: Option<bool>,
    signature: Option<[u8; 64]>,
    include: HashSet<Pubkey>,
    cuckoo: Option<CuckooFilter<[u8; 32]>>,
    exclude: HashSet<Pubkey>,
    required: HashSet<Pubkey>,
}

impl TransactionFilter {
    /// `keys` counts those of all filters of a request.
    pub fn parse(
        filter: &SubscribeRequestFilterTransactions,
        keys: &mut Keys,
        kept: Kept,
    ) -> Result<TransactionFilter, Status> {
        if filter.vote == Some(true) && kept != Kept::FullAndVotes {
            return Err(invalid_filter(
                "`vote` is not allowed: the index does not keep votes",
            ));
        }
        if filter.token_accounts.is_some() {
            return Err(invalid_filter(
                "`token_accounts` is not allowed: owners of token accounts are not looked up",
            ));
        }
        let signature = filter.signature.as_ref().map(|text| {
            decode_long_base58(text.as_bytes(), 64)
                .and_then(|bytes| <[u8; 64]>::try_from(bytes).ok())
                .ok_or_else(|| invalid_filter("signature is not base58 of 64 bytes"))
        });
        Ok(TransactionFilter {
            is_vote: filter.vote,
            has_failed: filter.failed,
            signature: signature.transpose()?,
            include: keys.parse(&filter.account_include)?,
            cuckoo: filter
                .cuckoo_account_include
                .as_ref()
                .map(parse_cuckoo)
                .transpose()?,
            exclude: keys.parse(&filter.account_exclude)?,
            required: keys.parse(&filter.account_required)?,
        })
    }

    pub fn has_cuckoo(&self) -> bool {
        self.cuckoo.is_some()
    }

    /// The transactions of a slot that may pass: every one that passes is among them.
    pub fn candidates(&self, content: &Content) -> Vec<u32> {
        let all = content.transactions.len();
        if let Some(key) = self.required.iter().next() {
            return content.naming(key).to_vec();
        }
        if self.cuckoo.is_none() && !self.include.is_empty() && self.include.len() <= all {
            let naming = |key| content.naming(key).iter().copied();
            return self.include.iter().flat_map(naming).collect();
        }
        (0..all as u32).collect()
    }

    pub fn passes(&self, content: &Content, index: u32) -> bool {
        let one = &content.transactions[index as usize];
        self.is_vote.is_none_or(|wanted| one.is_vote == wanted)
            && self
                .has_failed
                .is_none_or(|wanted| one.error.is_some() == wanted)
            && self.signature.is_none_or(|wanted| one.signature == wanted)
            && self.names(one)
    }

    /// One look at each key, however many the filter has.
    fn names(&self, Transaction { keys, .. }: &Transaction) -> bool {
        if keys.iter().any(|key| self.exclude.contains(key)) {
            return false;
        }
        if !self.required.is_empty() {
            let found: HashSet<&Pubkey> = keys
                .iter()
                .filter(|key| self.required.contains(*key))
                .collect();
            if found.len() < self.required.len() {
                return false;
            }
        }
        let includes_none = self.include.is_empty() && self.cuckoo.is_none();
        let is_included = |key: &Pubkey| {
            self.include.contains(key)
                || self
                    .cuckoo
                    .as_ref()
                    .is_some_and(|cuckoo| cuckoo.contains(key))
        };
        includes_none || keys.iter().any(is_included)
    }
}

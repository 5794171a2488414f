//! One filter of transactions: which transactions of a slot it lets through.

use std::collections::HashSet;

use primitives::Pubkey;
use primitives::encoding::decode_long_base58;
use tonic::Status;
use yellowstone_grpc_proto::geyser::{
    SubscribeRequestFilterTransactions, TokenAccountExpansionControlFlag as Expansion,
};

use crate::content::{Content, Transaction};
use crate::filter::keys::{KeySet, Keys};
use crate::status::invalid_filter;

/// What the feed of a network has of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kept {
    #[default]
    None,
    /// Whole ones, without votes.
    Full,
    FullAndVotes,
    /// All of a block, its entries too.
    FullAndEntries,
}

impl Kept {
    /// By the name that the configuration has for it.
    pub fn of_feed(transactions: &str) -> Kept {
        match transactions {
            "full" => Kept::Full,
            "fullAndVotes" => Kept::FullAndVotes,
            "fullAndEntries" => Kept::FullAndEntries,
            _ => Kept::None,
        }
    }

    pub fn has_votes(self) -> bool {
        matches!(self, Kept::FullAndVotes | Kept::FullAndEntries)
    }

    pub fn has_entries(self) -> bool {
        self == Kept::FullAndEntries
    }
}

/// A filter of transactions. Its fields are joined by AND; a cuckoo filter adds to the list of
/// accounts of which a transaction names any. With `token_accounts`, a transaction names the owners
/// of its token balances, too.
#[derive(Debug)]
pub struct TransactionFilter {
    is_vote: Option<bool>,
    has_failed: Option<bool>,
    signature: Option<[u8; 64]>,
    include: KeySet,
    exclude: HashSet<Pubkey>,
    required: HashSet<Pubkey>,
    owners: Option<Expansion>,
}

impl TransactionFilter {
    /// `keys` counts those of all filters of a request.
    pub fn parse(
        filter: &SubscribeRequestFilterTransactions,
        keys: &mut Keys,
        kept: Kept,
    ) -> Result<TransactionFilter, Status> {
        if filter.vote == Some(true) && !kept.has_votes() {
            return Err(invalid_filter(
                "`vote` is not allowed: the index does not keep votes",
            ));
        }
        let owners = filter.token_accounts.map(|mode| {
            Expansion::try_from(mode)
                .map_err(|_| invalid_filter(&format!("invalid token_accounts mode: {mode}")))
        });
        let signature = filter.signature.as_ref().map(|text| {
            decode_long_base58(text.as_bytes(), 64)
                .and_then(|bytes| <[u8; 64]>::try_from(bytes).ok())
                .ok_or_else(|| invalid_filter("signature is not base58 of 64 bytes"))
        });
        Ok(TransactionFilter {
            is_vote: filter.vote,
            has_failed: filter.failed,
            signature: signature.transpose()?,
            include: KeySet::parse(
                &filter.account_include,
                &filter.cuckoo_account_include,
                keys,
            )?,
            exclude: keys.parse(&filter.account_exclude)?,
            required: keys.parse(&filter.account_required)?,
            owners: owners.transpose()?,
        })
    }

    pub fn has_cuckoo(&self) -> bool {
        self.include.has_cuckoo()
    }

    /// The transactions of a slot that may pass: every one that passes is among them.
    pub fn candidates(&self, content: &Content) -> Vec<u32> {
        let all = content.transactions.len();
        // The index has accounts that are named, and no owners of balances.
        if self.owners.is_none() {
            if let Some(key) = self.required.iter().next() {
                return content.naming(key).to_vec();
            }
            if let Some(listed) = self.include.few(all) {
                return content.naming_any(listed);
            }
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
            && self.names(one, content)
    }

    /// One look at each key, however many the filter has.
    fn names(&self, one: &Transaction, content: &Content) -> bool {
        let owners: &[Pubkey] = match self.owners {
            None => &[],
            Some(Expansion::All) => &content.token_owners(one).all,
            Some(Expansion::BalanceChanged) => &content.token_owners(one).changed,
        };
        let keys = || one.keys.iter().chain(owners);
        if !self.exclude.is_empty() && keys().any(|key| self.exclude.contains(key)) {
            return false;
        }
        if !self.required.is_empty() {
            let found: HashSet<&Pubkey> =
                keys().filter(|key| self.required.contains(*key)).collect();
            if found.len() < self.required.len() {
                return false;
            }
        }
        self.include.is_all() || keys().any(|key| self.include.lets_through(key))
    }
}

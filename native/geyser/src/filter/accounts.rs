//! One filter of accounts: which accounts of a slot it lets through.

use std::collections::HashSet;

use primitives::Pubkey;
use primitives::encoding::{BytesEncoding, decode_memcmp};
use primitives::token::{self, TokenProgram};
use store::Scope;
use tonic::Status;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter::Filter as Test;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_lamports::Cmp;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_memcmp::Data;
use yellowstone_grpc_proto::geyser::{
    SubscribeRequestFilterAccounts, SubscribeRequestFilterAccountsFilter,
};

use crate::content::{Account, Content};
use crate::filter::keys::{KeySet, Keys, Outside, outside_scope};
use crate::status::invalid_filter;

/// Conditions of one filter, as of `getProgramAccounts`.
const TESTS_MAX: usize = 4;
/// Bytes that one condition compares.
const MEMCMP_BYTES_MAX: usize = 128;

/// A condition on one account.
#[derive(Debug)]
enum Condition {
    Bytes { offset: u64, bytes: Vec<u8> },
    Size(u64),
    TokenAccount(bool),
    LamportsEqual(u64),
    LamportsOther(u64),
    LamportsBelow(u64),
    LamportsAbove(u64),
}

impl Condition {
    fn parse(test: &SubscribeRequestFilterAccountsFilter) -> Result<Condition, Status> {
        let missing = || invalid_filter("Filter should be defined");
        Ok(match test.filter.as_ref().ok_or_else(missing)? {
            Test::Memcmp(memcmp) => {
                let undefined = || invalid_filter("Data for memcmp should be defined");
                let bytes = match memcmp.data.as_ref().ok_or_else(undefined)? {
                    Data::Bytes(bytes) => bytes.clone(),
                    Data::Base58(text) => decode_memcmp(text, BytesEncoding::Base58)
                        .map_err(|_| invalid_filter("invalid base58"))?,
                    Data::Base64(text) => decode_memcmp(text, BytesEncoding::Base64)
                        .map_err(|_| invalid_filter("invalid base64"))?,
                };
                if bytes.len() > MEMCMP_BYTES_MAX {
                    return Err(invalid_filter("data too large"));
                }
                Condition::Bytes {
                    offset: memcmp.offset,
                    bytes,
                }
            }
            Test::Datasize(size) => Condition::Size(*size),
            Test::TokenAccountState(wanted) => Condition::TokenAccount(*wanted),
            Test::Lamports(lamports) => {
                let undefined = || invalid_filter("Lamports should be defined");
                match lamports.cmp.as_ref().ok_or_else(undefined)? {
                    Cmp::Eq(value) => Condition::LamportsEqual(*value),
                    Cmp::Ne(value) => Condition::LamportsOther(*value),
                    Cmp::Lt(value) => Condition::LamportsBelow(*value),
                    Cmp::Gt(value) => Condition::LamportsAbove(*value),
                }
            }
        })
    }

    fn holds(&self, account: &Account, data: &[u8]) -> bool {
        match self {
            Condition::Bytes { offset, bytes } => usize::try_from(*offset)
                .ok()
                .and_then(|begin| data.get(begin..begin.checked_add(bytes.len())?))
                .is_some_and(|part| part == bytes),
            Condition::Size(size) => data.len() as u64 == *size,
            Condition::TokenAccount(wanted) => token::is_account(data) == *wanted,
            Condition::LamportsEqual(value) => account.lamports == *value,
            Condition::LamportsOther(value) => account.lamports != *value,
            Condition::LamportsBelow(value) => account.lamports < *value,
            Condition::LamportsAbove(value) => account.lamports > *value,
        }
    }

    /// The mint that it asks for in the first field of token accounts.
    fn mint(&self) -> Option<&Pubkey> {
        match self {
            Condition::Bytes { offset: 0, bytes } => bytes.first_chunk(),
            _ => None,
        }
    }
}

/// A filter of accounts. Its fields are joined by AND, the values of a list by OR; a cuckoo filter
/// adds to the list of accounts.
#[derive(Debug)]
pub struct AccountFilter {
    accounts: KeySet,
    owners: HashSet<Pubkey>,
    is_signed: Option<bool>,
    conditions: Vec<Condition>,
}

impl AccountFilter {
    /// `keys` counts those of all filters of a request.
    pub fn parse(
        filter: &SubscribeRequestFilterAccounts,
        keys: &mut Keys,
        scope: &Scope,
    ) -> Result<AccountFilter, Status> {
        if filter.filters.len() > TESTS_MAX {
            let reason = format!("Too many filters provided; max {TESTS_MAX}");
            return Err(invalid_filter(&reason));
        }
        let parsed = AccountFilter {
            accounts: KeySet::parse(&filter.account, &filter.cuckoo_accounts_filter, keys)?,
            owners: keys.parse(&filter.owner)?,
            is_signed: filter.nonempty_txn_signature,
            conditions: filter
                .filters
                .iter()
                .map(Condition::parse)
                .collect::<Result<_, _>>()?,
        };
        parsed.check_scope(scope)?;
        Ok(parsed)
    }

    /// Whether it has to look at every account of a slot.
    pub fn is_any(&self) -> bool {
        self.accounts.listed.is_empty() && self.owners.is_empty()
    }

    pub fn has_cuckoo(&self) -> bool {
        self.accounts.has_cuckoo()
    }

    /// The index has all that the filter can let through, or the filter is refused.
    fn check_scope(&self, scope: &Scope) -> Result<(), Status> {
        if *scope == Scope::All {
            return Ok(());
        }
        // What a covered program owns is covered, whatever its address is.
        if self.are_owners_covered(scope) {
            return Ok(());
        }
        match self.accounts.outside(scope) {
            Outside::Nothing => Ok(()),
            Outside::Key(key) => Err(outside_scope(&primitives::encoding::encode_pubkey(&key))),
            Outside::Unlisted => Err(outside_scope(
                "a filter without an `account` or `owner` of the scope",
            )),
        }
    }

    fn are_owners_covered(&self, scope: &Scope) -> bool {
        let mint = self.conditions.iter().find_map(Condition::mint);
        let covers_mint = mint.is_some_and(|mint| scope.covers_mint(mint));
        let is_covered = |owner: &Pubkey| {
            scope.covers_program(owner) || (covers_mint && TokenProgram::of(owner).is_some())
        };
        !self.owners.is_empty() && self.owners.iter().all(is_covered)
    }

    /// The accounts of a slot that may pass: every one that passes is among them.
    pub fn candidates(&self, content: &Content) -> Vec<u32> {
        let all = content.accounts.len();
        if let Some(listed) = self.accounts.few(all) {
            return listed.iter().filter_map(|key| content.find(key)).collect();
        }
        if !self.owners.is_empty() && self.owners.len() <= all {
            let of_owner = |owner| content.of_owner(owner).iter().copied();
            return self.owners.iter().flat_map(of_owner).collect();
        }
        (0..all as u32).collect()
    }

    pub fn passes(&self, content: &Content, index: u32) -> bool {
        let account = &content.accounts[index as usize];
        let data = content.data(account);
        self.accounts.lets_through(&account.pubkey)
            && (self.owners.is_empty() || self.owners.contains(&account.owner))
            && self
                .is_signed
                .is_none_or(|wanted| account.is_signed == wanted)
            && self
                .conditions
                .iter()
                .all(|condition| condition.holds(account, data))
    }
}

//! Which updates a subscription asked for.

use std::collections::HashSet;
use std::hash::Hash;

use tonic::Status;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter::Filter as Test;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_lamports::Cmp;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_memcmp::Data;
use yellowstone_grpc_proto::geyser::{
    SlotStatus, SubscribeRequestFilterAccounts, SubscribeRequestFilterSlots,
    SubscribeRequestFilterTransactions, SubscribeUpdateAccountInfo,
};

use crate::item::{Key, Level, Transaction};

fn key(text: &str) -> Result<Key, Status> {
    let bytes = bs58::decode(text).into_vec().ok();
    let key = bytes.and_then(|bytes| Key::try_from(bytes).ok());
    key.ok_or_else(|| Status::invalid_argument(format!("failed to create filter: {text}")))
}

fn keys<C: FromIterator<Key>>(texts: &[String]) -> Result<C, Status> {
    texts.iter().map(|text| key(text)).collect()
}

/// An empty list asks for everything.
fn is_in<T: Eq + Hash>(set: &HashSet<T>, value: Option<&T>) -> bool {
    set.is_empty() || value.is_some_and(|value| set.contains(value))
}

pub struct Accounts {
    accounts: HashSet<Key>,
    owners: HashSet<Key>,
    tests: Vec<Test>,
    has_signature: Option<bool>,
}

impl Accounts {
    pub fn new(filter: &SubscribeRequestFilterAccounts) -> Result<Accounts, Status> {
        if filter.cuckoo_accounts_filter.is_some() {
            return Err(Status::invalid_argument(
                "failed to create filter: no cuckoo filters",
            ));
        }
        Ok(Accounts {
            accounts: keys(&filter.account)?,
            owners: keys(&filter.owner)?,
            tests: filter
                .filters
                .iter()
                .filter_map(|it| it.filter.clone())
                .collect(),
            has_signature: filter.nonempty_txn_signature,
        })
    }

    pub fn matches(&self, info: &SubscribeUpdateAccountInfo) -> bool {
        let to_key = |bytes: &[u8]| Key::try_from(bytes).ok();
        is_in(&self.accounts, to_key(&info.pubkey).as_ref())
            && is_in(&self.owners, to_key(&info.owner).as_ref())
            && self
                .has_signature
                .is_none_or(|has| has == info.txn_signature.is_some())
            && self.tests.iter().all(|test| passes(test, info))
    }
}

fn passes(test: &Test, info: &SubscribeUpdateAccountInfo) -> bool {
    match test {
        Test::Memcmp(memcmp) => {
            let wanted = match &memcmp.data {
                Some(Data::Bytes(bytes)) => bytes.clone(),
                Some(Data::Base58(text)) => bs58::decode(text).into_vec().unwrap_or_default(),
                // Slotline asks by bytes.
                Some(Data::Base64(_)) | None => return false,
            };
            let start = usize::try_from(memcmp.offset).unwrap_or(usize::MAX);
            info.data
                .get(start..)
                .is_some_and(|data| data.starts_with(&wanted))
        }
        Test::Datasize(size) => info.data.len() as u64 == *size,
        Test::TokenAccountState(is_wanted) => is_token_account(&info.data) == *is_wanted,
        Test::Lamports(lamports) => match lamports.cmp {
            Some(Cmp::Eq(value)) => info.lamports == value,
            Some(Cmp::Ne(value)) => info.lamports != value,
            Some(Cmp::Lt(value)) => info.lamports < value,
            Some(Cmp::Gt(value)) => info.lamports > value,
            None => true,
        },
    }
}

fn is_token_account(data: &[u8]) -> bool {
    const PLAIN: usize = 165;
    const MULTISIG: usize = 355;
    let is_initialized = data.get(108).is_some_and(|state| *state != 0);
    let is_extended = data.len() != MULTISIG && data.get(PLAIN) == Some(&2);
    is_initialized && (data.len() == PLAIN || is_extended)
}

pub struct Transactions {
    vote: Option<bool>,
    failed: Option<bool>,
    signature: Option<Vec<u8>>,
    include: HashSet<Key>,
    exclude: HashSet<Key>,
    required: Vec<Key>,
}

impl Transactions {
    pub fn new(filter: &SubscribeRequestFilterTransactions) -> Result<Transactions, Status> {
        if filter.cuckoo_account_include.is_some() || filter.token_accounts.is_some() {
            return Err(Status::invalid_argument(
                "failed to create filter: not supported",
            ));
        }
        let signature = filter
            .signature
            .as_ref()
            .map(|text| bs58::decode(text).into_vec());
        let signature = signature.transpose();
        Ok(Transactions {
            vote: filter.vote,
            failed: filter.failed,
            signature: signature.map_err(|error| Status::invalid_argument(error.to_string()))?,
            include: keys(&filter.account_include)?,
            exclude: keys(&filter.account_exclude)?,
            required: keys(&filter.account_required)?,
        })
    }

    pub fn matches(&self, transaction: &Transaction) -> bool {
        let Transaction { info, keys } = transaction;
        let has_failed = info.meta.as_ref().is_some_and(|meta| meta.err.is_some());
        self.vote.is_none_or(|vote| vote == info.is_vote)
            && self.failed.is_none_or(|failed| failed == has_failed)
            && self
                .signature
                .as_ref()
                .is_none_or(|wanted| *wanted == info.signature)
            && (self.include.is_empty() || keys.iter().any(|key| self.include.contains(key)))
            && !keys.iter().any(|key| self.exclude.contains(key))
            && self.required.iter().all(|key| keys.contains(key))
    }
}

pub fn slot_matches(
    filter: &SubscribeRequestFilterSlots,
    level: Level,
    status: SlotStatus,
) -> bool {
    let is_level = (status as i32) <= (SlotStatus::SlotFinalized as i32);
    (is_level || filter.interslot_updates == Some(true))
        && (filter.filter_by_commitment != Some(true) || status == level.status())
}

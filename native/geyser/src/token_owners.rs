//! The owners of the token balances of a transaction, by the rules of Yellowstone's
//! `token_accounts`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use primitives::Pubkey;
use primitives::encoding::decode_pubkey;
use yellowstone_grpc_proto::prost::Message;
use yellowstone_grpc_proto::solana::storage::confirmed_block::TokenBalance;

/// Of a TransactionStatusMeta only the token balances before and after the transaction.
#[derive(Clone, PartialEq, Message)]
#[prost(prost_path = "yellowstone_grpc_proto::prost")]
struct Balances {
    #[prost(message, repeated, tag = "7")]
    before: Vec<TokenBalance>,
    #[prost(message, repeated, tag = "8")]
    after: Vec<TokenBalance>,
}

/// Owners of a transaction, each once and ascending.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TokenOwners {
    /// Those of a balance before or after it.
    pub all: Box<[Pubkey]>,
    /// Those of a balance that differs, is new, or is gone.
    pub changed: Box<[Pubkey]>,
}

/// An owner that is no address is left out, with its balance.
fn owner_of(balance: &TokenBalance) -> Option<Pubkey> {
    decode_pubkey(&balance.owner).ok()
}

/// An amount that is absent differs from every other one.
fn amount_of(balance: &TokenBalance) -> &str {
    let amount = balance.ui_token_amount.as_ref();
    amount.map_or("", |amount| &amount.amount)
}

impl TokenOwners {
    /// Those of a transaction in the feed's protobuf.
    pub fn of(full: &[u8]) -> TokenOwners {
        let meta = store::transaction_meta(full);
        // A feed sends protobuf; without it there are no owners.
        let Balances { before, after } = Balances::decode(meta).unwrap_or_default();
        let all: BTreeSet<Pubkey> = before.iter().chain(&after).filter_map(owner_of).collect();
        let by_index: BTreeMap<u32, (Pubkey, &str)> = before
            .iter()
            .filter_map(|one| Some((one.account_index, (owner_of(one)?, amount_of(one)))))
            .collect();
        let mut changed = BTreeSet::new();
        let mut still_there = HashSet::new();
        for balance in &after {
            let Some(owner) = owner_of(balance) else {
                continue;
            };
            still_there.insert(balance.account_index);
            let former = by_index.get(&balance.account_index);
            if former.is_none_or(|(_, amount)| *amount != amount_of(balance)) {
                changed.insert(owner);
            }
        }
        let gone = by_index
            .iter()
            .filter(|(index, _)| !still_there.contains(index));
        changed.extend(gone.map(|(_, (owner, _))| *owner));
        TokenOwners {
            all: all.into_iter().collect(),
            changed: changed.into_iter().collect(),
        }
    }

    pub fn byte_count(&self) -> usize {
        (self.all.len() + self.changed.len()) * size_of::<Pubkey>()
    }
}

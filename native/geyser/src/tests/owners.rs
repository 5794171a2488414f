//! `token_accounts` against a reference of a few lines.

use primitives::encoding::encode_pubkey;
use proptest::prelude::*;
use store::testing::{block, number};
use store::{Block, TransactionDetails, TransactionUpdate};
use yellowstone_grpc_proto::geyser::*;
use yellowstone_grpc_proto::prost::Message;
use yellowstone_grpc_proto::solana::storage::confirmed_block::{
    TokenBalance, TransactionStatusMeta, UiTokenAmount,
};

use super::read;
use crate::content::Content;
use crate::filter::transactions::{Kept, TransactionFilter};

/// Index of the account, its owner, and the amount; an owner of 0 is no address.
type Balance = (u32, u64, Option<u64>);
/// Keys, balances before and after.
type Row = (Vec<u64>, Vec<Balance>, Vec<Balance>);

fn proto(rows: &[Balance]) -> Vec<TokenBalance> {
    let of = |&(account_index, owner, amount): &Balance| TokenBalance {
        account_index,
        owner: match owner {
            0 => String::new(),
            owner => encode_pubkey(&number(owner)),
        },
        ui_token_amount: amount.map(|amount| UiTokenAmount {
            amount: amount.to_string(),
            ..UiTokenAmount::default()
        }),
        ..TokenBalance::default()
    };
    rows.iter().map(of).collect()
}

fn content_of(rows: &[Row]) -> Content {
    let transactions = rows.iter().enumerate().map(|(at, (keys, before, after))| {
        let info = SubscribeUpdateTransactionInfo {
            meta: Some(TransactionStatusMeta {
                log_messages: vec!["line".to_string()],
                pre_token_balances: proto(before),
                post_token_balances: proto(after),
                ..TransactionStatusMeta::default()
            }),
            ..SubscribeUpdateTransactionInfo::default()
        };
        TransactionUpdate {
            signature: [at as u8; 64],
            index: at as u32,
            error: None,
            details: Some(TransactionDetails {
                keys: keys.iter().map(|&n| number(n)).collect(),
                full: Some(info.encode_to_vec()),
                ..TransactionDetails::default()
            }),
        }
    });
    read(&Block {
        transactions: transactions.collect(),
        ..block(5, vec![])
    })
}

/// What a transaction names, by the words of the proto file.
fn named(
    (keys, before, after): &Row,
    mode: Option<TokenAccountExpansionControlFlag>,
) -> Vec<String> {
    let has_owner = |one: &&Balance| one.1 != 0;
    let (before, after): (Vec<&Balance>, Vec<&Balance>) = (
        before.iter().filter(has_owner).collect(),
        after.iter().filter(has_owner).collect(),
    );
    let last = |list: &[&Balance], index: u32| {
        list.iter()
            .rev()
            .find(|one| one.0 == index)
            .copied()
            .copied()
    };
    let mut all = keys.clone();
    match mode {
        None => {}
        Some(TokenAccountExpansionControlFlag::All) => {
            all.extend(before.iter().chain(&after).map(|one| one.1));
        }
        Some(TokenAccountExpansionControlFlag::BalanceChanged) => {
            let is_other = |one: &&&Balance| last(&before, one.0).is_none_or(|was| was.2 != one.2);
            all.extend(after.iter().filter(is_other).map(|one| one.1));
            let is_gone = |one: &&&Balance| {
                last(&after, one.0).is_none() && last(&before, one.0) == Some(***one)
            };
            all.extend(before.iter().filter(is_gone).map(|one| one.1));
        }
    }
    all.iter().map(|&n| encode_pubkey(&number(n))).collect()
}

fn balances() -> impl Strategy<Value = Vec<Balance>> {
    let one = (0u32..4, 0u64..6, prop::option::of(0u64..2));
    prop::collection::vec(one, 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_same_owners_pass_as_by_the_reference(
        lists in prop::collection::vec(prop::collection::vec(1u64..8, 0..3), 3),
        mode in prop::option::of(0i32..2),
        rows in prop::collection::vec(
            (prop::collection::vec(5u64..10, 1..4), balances(), balances()), 1..8),
    ) {
        let [include, exclude, required] = [0, 1, 2].map(|at: usize| -> Vec<String> {
            lists[at].iter().map(|&n| encode_pubkey(&number(n))).collect()
        });
        let filter = SubscribeRequestFilterTransactions {
            account_include: include.clone(),
            account_exclude: exclude.clone(),
            account_required: required.clone(),
            token_accounts: mode,
            ..SubscribeRequestFilterTransactions::default()
        };
        let content = content_of(&rows);
        let before = content.byte_count();
        let parsed = TransactionFilter::parse(&filter, &mut Default::default(), Kept::Full).unwrap();
        let mut found: Vec<u32> = parsed.candidates(&content);
        found.retain(|&at| parsed.passes(&content, at));
        found.sort_unstable();
        found.dedup();
        let mode = mode.map(|mode| TokenAccountExpansionControlFlag::try_from(mode).unwrap());
        let wanted: Vec<u32> = (0..rows.len() as u32)
            .filter(|&at| {
                let named = named(&rows[at as usize], mode);
                let is_named = |text: &String| named.contains(text);
                (include.is_empty() || include.iter().any(is_named))
                    && !exclude.iter().any(is_named)
                    && required.iter().all(is_named)
            })
            .collect();
        prop_assert_eq!(found, wanted);
        prop_assert!(mode.is_some() || content.byte_count() == before);
    }
}

#[test]
fn an_unknown_mode_is_refused() {
    let filter = SubscribeRequestFilterTransactions {
        token_accounts: Some(2),
        ..SubscribeRequestFilterTransactions::default()
    };
    let refused = TransactionFilter::parse(&filter, &mut Default::default(), Kept::Full);
    assert_eq!(
        refused.unwrap_err().message(),
        "failed to create filter: invalid token_accounts mode: 2"
    );
}

//! Filters against a reference of a few lines.

use std::collections::HashMap;

use primitives::Pubkey;
use primitives::encoding::encode_pubkey;
use proptest::prelude::*;
use store::testing::{account, number, token_data};
use store::{AccountUpdate, Scope};
use yellowstone_grpc_proto::cuckoo::CuckooFilter;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter::Filter as Test;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_lamports::Cmp;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_memcmp::Data;
use yellowstone_grpc_proto::geyser::{CuckooFilter as CuckooMessage, *};

use super::{content_of, transactions_of};
use crate::filter::keys::KEYS_MAX;
use crate::filter::transactions::{Kept, TransactionFilter};
use crate::filter::{ACCOUNT_FILTERS_MAX, Filters, Matches, Served};

fn served(scope: Scope, kept: Kept) -> Served {
    Served { scope, kept }
}

fn parse(request: &SubscribeRequest) -> Result<Filters, String> {
    let parsed = Filters::parse(request, &served(Scope::All, Kept::Full), 1_000);
    parsed.map_err(|status| status.message().to_string())
}

fn with_accounts(filters: Vec<SubscribeRequestFilterAccounts>) -> SubscribeRequest {
    let named = filters.into_iter().enumerate();
    SubscribeRequest {
        accounts: named
            .map(|(n, filter)| (format!("{n:02}"), filter))
            .collect(),
        ..SubscribeRequest::default()
    }
}

fn keys(numbers: &[u64]) -> Vec<String> {
    numbers.iter().map(|&n| encode_pubkey(&number(n))).collect()
}

pub fn cuckoo_of(numbers: &[u64]) -> CuckooMessage {
    let mut filter = CuckooFilter::<[u8; 32]>::with_capacity(256).unwrap();
    // The same key takes a place each time.
    for n in std::collections::BTreeSet::from_iter(numbers.iter().copied()) {
        filter.insert(&number(n)).unwrap();
    }
    (&filter).into()
}

type Row = (u64, u64, u64, Vec<u8>);

/// Which accounts pass, by the words of the documentation.
fn passes(filter: &SubscribeRequestFilterAccounts, row: &Row) -> bool {
    let (key, owner, lamports, data) = row;
    let has = |list: &[String], n: u64| list.contains(&encode_pubkey(&number(n)));
    (filter.account.is_empty() || has(&filter.account, *key))
        && (filter.owner.is_empty() || has(&filter.owner, *owner))
        && filter
            .nonempty_txn_signature
            .is_none_or(|wanted| wanted == (lamports % 2 == 1))
        && filter
            .filters
            .iter()
            .all(|one| match one.filter.as_ref().unwrap() {
                Test::Datasize(size) => data.len() as u64 == *size,
                Test::Memcmp(memcmp) => match memcmp.data.as_ref().unwrap() {
                    Data::Bytes(bytes) => {
                        data.len() >= memcmp.offset as usize
                            && data[memcmp.offset as usize..].starts_with(bytes)
                    }
                    _ => unreachable!(),
                },
                Test::Lamports(lamport) => match lamport.cmp.as_ref().unwrap() {
                    Cmp::Eq(value) => lamports == value,
                    Cmp::Ne(value) => lamports != value,
                    Cmp::Lt(value) => lamports < value,
                    Cmp::Gt(value) => lamports > value,
                },
                Test::TokenAccountState(wanted) => (data.len() == 165) == *wanted,
            })
}

fn condition() -> impl Strategy<Value = SubscribeRequestFilterAccountsFilter> {
    let filter = prop_oneof![
        (0u64..6).prop_map(Test::Datasize),
        any::<bool>().prop_map(Test::TokenAccountState),
        (0u64..4, prop::collection::vec(0u8..3, 1..3)).prop_map(|(offset, bytes)| Test::Memcmp(
            SubscribeRequestFilterAccountsFilterMemcmp {
                offset,
                data: Some(Data::Bytes(bytes)),
            }
        )),
        (0usize..4, 1u64..5).prop_map(|(kind, value)| {
            let cmp = [
                Cmp::Eq(value),
                Cmp::Ne(value),
                Cmp::Lt(value),
                Cmp::Gt(value),
            ][kind];
            Test::Lamports(SubscribeRequestFilterAccountsFilterLamports { cmp: Some(cmp) })
        }),
    ];
    filter.prop_map(|filter| SubscribeRequestFilterAccountsFilter {
        filter: Some(filter),
    })
}

fn filter() -> impl Strategy<Value = SubscribeRequestFilterAccounts> {
    let account = prop::collection::vec(0u64..12, 0..15);
    let owner = prop::collection::vec(50u64..53, 0..3);
    let conditions = prop::collection::vec(condition(), 0..3);
    let signed = any::<Option<bool>>();
    (account, owner, conditions, signed).prop_map(|(account, owner, filters, signed)| {
        SubscribeRequestFilterAccounts {
            nonempty_txn_signature: signed,
            account: keys(&account),
            owner: keys(&owner),
            filters,
            ..SubscribeRequestFilterAccounts::default()
        }
    })
}

fn row() -> impl Strategy<Value = Row> {
    let data = prop_oneof![
        prop::collection::vec(0u8..3, 0..6),
        Just(token_data(&number(1), &number(2), 3, 1)),
    ];
    (0u64..12, 50u64..53, 1u64..5, data)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_same_accounts_pass_as_by_the_reference(
        filters in prop::collection::vec(filter(), 1..4),
        rows in prop::collection::vec(row(), 1..10),
    ) {
        let unique: HashMap<u64, Row> = rows.into_iter().map(|row| (row.0, row)).collect();
        let updates = unique
            .values()
            .map(|(key, owner, lamports, data)| {
                let is_signed = lamports % 2 == 1;
                let update = account(number(*key), *lamports, number(*owner), data);
                AccountUpdate { is_signed, ..update }
            })
            .collect();
        let content = content_of(updates);
        let parsed = parse(&with_accounts(filters.clone())).unwrap();
        let found = parsed.match_all(&content);
        for (index, account) in content.accounts.iter().enumerate() {
            let row = unique.values().find(|row| number(row.0) == account.pubkey).unwrap();
            let wanted: Vec<String> = filters
                .iter()
                .enumerate()
                .filter(|(_, filter)| passes(filter, row))
                .map(|(n, _)| format!("{n:02}"))
                .collect();
            let bits = found.iter().find(|(at, _)| *at as usize == index).map_or(0, |one| one.1);
            let names: Vec<String> =
                parsed.account_names(bits).iter().map(ToString::to_string).collect();
            prop_assert_eq!(names, wanted);
        }
    }

    #[test]
    fn a_cuckoo_filter_loses_no_key(numbers in prop::collection::vec(0u64..1_000, 1..60)) {
        let filter = SubscribeRequestFilterAccounts {
            cuckoo_accounts_filter: Some(cuckoo_of(&numbers)),
            ..SubscribeRequestFilterAccounts::default()
        };
        let rows = numbers.iter().map(|&n| account(number(n), 1, number(50), &[]));
        let content = content_of(rows.collect());
        let found = parse(&with_accounts(vec![filter])).unwrap().match_all(&content);
        prop_assert_eq!(found.len(), content.accounts.len());
    }
}

#[test]
fn a_cuckoo_filter_of_another_form_is_refused() {
    let refused = |change: &dyn Fn(&mut CuckooMessage)| {
        let mut message = cuckoo_of(&[1, 2, 3]);
        change(&mut message);
        let filter = SubscribeRequestFilterAccounts {
            cuckoo_accounts_filter: Some(message),
            ..SubscribeRequestFilterAccounts::default()
        };
        parse(&with_accounts(vec![filter])).err()
    };
    assert_eq!(refused(&|_| ()), None);
    let text = refused(&|message| message.hash_algorithm = 1).unwrap();
    assert_eq!(
        text,
        "failed to create filter: cuckoo filter: unknown hash algorithm"
    );
    assert!(refused(&|message| message.fingerprint_bits = 8).is_some());
    assert!(refused(&|message| message.data.push(1)).is_some());
    assert!(refused(&|message| message.data.clear()).is_some());
    let three = |message: &mut CuckooMessage| {
        (message.data, message.bucket_count) = (vec![0; 24], 3);
    };
    assert!(refused(&three).unwrap().contains("power of two"));
}

#[test]
fn limits_have_the_words_of_yellowstone() {
    let any = SubscribeRequestFilterAccounts::default;
    let named = |n: u64| SubscribeRequestFilterAccounts {
        account: keys(&[n]),
        ..any()
    };
    let filters = (0..=ACCOUNT_FILTERS_MAX as u64).map(named).collect();
    let text = parse(&with_accounts(filters)).unwrap_err();
    let max = "failed to create filter: Max amount of filters/data_slices reached, only 64 allowed";
    assert_eq!(text, max);
    let many = SubscribeRequestFilterAccounts {
        account: vec![encode_pubkey(&number(1)); KEYS_MAX + 1],
        ..any()
    };
    let text = parse(&with_accounts(vec![many])).unwrap_err();
    assert_eq!(
        text,
        "failed to create filter: Max amount of Pubkeys reached, only 100000 allowed"
    );
    assert!(parse(&with_accounts((0..5).map(|_| any()).collect())).is_err());
    let slices = |pairs: &[(u64, u64)]| SubscribeRequest {
        accounts_data_slice: pairs
            .iter()
            .map(|&(offset, length)| SubscribeRequestAccountsDataSlice { offset, length })
            .collect(),
        ..SubscribeRequest::default()
    };
    assert!(parse(&slices(&[(0, 4), (4, 9)])).is_ok());
    let text = parse(&slices(&[(5, 1), (4, 1)])).unwrap_err();
    assert!(text.ends_with("data slices out of order"));
    let text = parse(&slices(&[(0, u64::MAX), (u64::MAX - 1, 1)])).unwrap_err();
    assert!(text.ends_with("data slices overlapped"));
}

#[test]
fn what_the_scope_excludes_is_refused() {
    let scope = Scope::Listed {
        programs: vec![number(50)],
        mints: Vec::new(),
        pubkeys: vec![number(1)],
    };
    let asks = |account: &[u64], owner: &[u64]| {
        let filter = SubscribeRequestFilterAccounts {
            account: keys(account),
            owner: keys(owner),
            ..SubscribeRequestFilterAccounts::default()
        };
        let parsed = Filters::parse(
            &with_accounts(vec![filter]),
            &served(scope.clone(), Kept::None),
            1_000,
        );
        parsed.err().map(|status| status.message().to_string())
    };
    assert_eq!(asks(&[1], &[]), None);
    assert_eq!(asks(&[], &[50]), None);
    assert_eq!(
        asks(&[9], &[50]),
        None,
        "an account of a program of the scope"
    );
    let outside: Pubkey = number(2);
    let text = format!(
        "failed to create filter: {} is outside the scope of the index",
        encode_pubkey(&outside)
    );
    assert_eq!(asks(&[1, 2], &[]), Some(text));
    assert!(asks(&[], &[51]).is_some());
    assert!(asks(&[], &[]).is_some());
}

/// Which transactions pass, by the words of the documentation: keys, whether it has failed.
fn lets_through(
    filter: &SubscribeRequestFilterTransactions,
    keys: &[u64],
    has_failed: bool,
) -> bool {
    let has = |text: &String| keys.iter().any(|&n| encode_pubkey(&number(n)) == *text);
    filter.failed.is_none_or(|wanted| wanted == has_failed)
        && (filter.account_include.is_empty() || filter.account_include.iter().any(has))
        && !filter.account_exclude.iter().any(has)
        && filter.account_required.iter().all(has)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_same_transactions_pass_as_by_the_reference(
        lists in prop::collection::vec(prop::collection::vec(0u64..8, 0..4), 3),
        failed: Option<bool>,
        rows in prop::collection::vec((prop::collection::vec(0u64..8, 1..5), any::<bool>()), 1..8),
    ) {
        let filter = SubscribeRequestFilterTransactions {
            failed,
            account_include: keys(&lists[0]),
            account_exclude: keys(&lists[1]),
            account_required: keys(&lists[2]),
            ..SubscribeRequestFilterTransactions::default()
        };
        let content = transactions_of(&rows);
        let parsed = TransactionFilter::parse(&filter, &mut Default::default(), Kept::Full).unwrap();
        let mut matches = Matches::default();
        matches.add(0, &parsed.candidates(&content), |at| parsed.passes(&content, at));
        let found: Vec<u32> = matches.finish().into_iter().map(|(at, _)| at).collect();
        let wanted: Vec<u32> = (0..rows.len() as u32)
            .filter(|&at| lets_through(&filter, &rows[at as usize].0, rows[at as usize].1))
            .collect();
        prop_assert_eq!(found, wanted);
    }
}

#[test]
fn what_is_not_kept_of_transactions_is_refused() {
    let asks = |filter: SubscribeRequestFilterTransactions, kept: Kept| {
        let request = SubscribeRequest {
            transactions: [("t".to_string(), filter)].into(),
            ..SubscribeRequest::default()
        };
        let parsed = Filters::parse(&request, &served(Scope::All, kept), 1_000);
        parsed.err().map(|status| status.message().to_string())
    };
    let any = SubscribeRequestFilterTransactions::default;
    let text = "failed to create filter: `transactions` is not allowed: the index does not keep whole \
                transactions";
    assert_eq!(asks(any(), Kept::None).as_deref(), Some(text));
    assert_eq!(asks(any(), Kept::Full), None);
    let votes = || SubscribeRequestFilterTransactions {
        vote: Some(true),
        ..any()
    };
    assert!(asks(votes(), Kept::Full).is_some());
    assert_eq!(asks(votes(), Kept::FullAndVotes), None);
    let signed = |text: &str| SubscribeRequestFilterTransactions {
        signature: Some(text.to_string()),
        ..any()
    };
    assert!(
        asks(signed("x"), Kept::Full)
            .unwrap()
            .ends_with("base58 of 64 bytes")
    );
    assert_eq!(asks(signed(&"1".repeat(64)), Kept::Full), None);
}

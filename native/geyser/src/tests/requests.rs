//! Requests that were changed on the way: random bytes hardly ever are a request, so valid ones of
//! all kinds of filters are changed. What is accepted has to be usable.

use std::collections::HashMap;

use futures::executor::block_on;
use primitives::encoding::encode_pubkey;
use proptest::prelude::*;
use store::Scope;
use store::testing::{account, number, token_data};
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter::Filter as Test;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_lamports::Cmp;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_memcmp::Data;
use yellowstone_grpc_proto::geyser::*;
use yellowstone_grpc_proto::prost::Message;

use super::filters::cuckoo_of;
use super::{content_of, transactions_of};
use crate::content::Content;
use crate::filter::transactions::Kept;
use crate::filter::{Filters, Served};
use crate::sending::match_transactions;

fn named<T>(filters: Vec<T>) -> HashMap<String, T> {
    let named = filters.into_iter().enumerate();
    named.map(|(n, filter)| (format!("{n}"), filter)).collect()
}

fn key(n: u64) -> String {
    encode_pubkey(&number(n))
}

fn conditions() -> Vec<Test> {
    let memcmp = |offset, data| {
        let data = Some(data);
        Test::Memcmp(SubscribeRequestFilterAccountsFilterMemcmp { offset, data })
    };
    let lamports = SubscribeRequestFilterAccountsFilterLamports {
        cmp: Some(Cmp::Gt(1)),
    };
    // The last bytes of a token account: any further ones are outside.
    vec![
        memcmp(133, Data::Bytes(number(50).to_vec())),
        memcmp(133, Data::Base58(key(3))),
        memcmp(162, Data::Base64("AQID".to_string())),
        Test::Datasize(165),
        Test::Lamports(lamports),
    ]
}

fn accounts() -> Vec<SubscribeRequestFilterAccounts> {
    let by_key = SubscribeRequestFilterAccounts {
        account: vec![key(1), key(2)],
        cuckoo_accounts_filter: Some(cuckoo_of(&[1, 2, 3])),
        ..SubscribeRequestFilterAccounts::default()
    };
    let by_data = conditions().into_iter().map(|one| {
        let one = SubscribeRequestFilterAccountsFilter { filter: Some(one) };
        SubscribeRequestFilterAccounts {
            filters: vec![one],
            ..SubscribeRequestFilterAccounts::default()
        }
    });
    [by_key].into_iter().chain(by_data).collect()
}

/// Of each kind of request one.
fn valid() -> Vec<Vec<u8>> {
    let transactions = SubscribeRequestFilterTransactions {
        failed: Some(false),
        account_include: vec![key(1)],
        account_exclude: vec![key(2)],
        account_required: vec![key(3)],
        cuckoo_account_include: Some(cuckoo_of(&[4])),
        ..SubscribeRequestFilterTransactions::default()
    };
    let deshred = SubscribeRequestFilterDeshredTransactions {
        account_include: vec![key(1)],
        ..SubscribeRequestFilterDeshredTransactions::default()
    };
    let slice = |offset| SubscribeRequestAccountsDataSlice { offset, length: 8 };
    let mut requests: Vec<SubscribeRequest> = accounts()
        .into_iter()
        .map(|filter| SubscribeRequest {
            accounts: named(vec![filter]),
            accounts_data_slice: vec![slice(0), slice(8)],
            from_slot: Some(5),
            ..SubscribeRequest::default()
        })
        .collect();
    requests.push(SubscribeRequest {
        transactions: named(vec![transactions.clone()]),
        transactions_status: named(vec![transactions]),
        slots: named(vec![SubscribeRequestFilterSlots::default()]),
        commitment: Some(1),
        ..SubscribeRequest::default()
    });
    let early = SubscribeDeshredRequest {
        deshred_transactions: named(vec![deshred]),
        ..SubscribeDeshredRequest::default()
    };
    let all = requests.iter().map(Message::encode_to_vec);
    all.chain([early.encode_to_vec()]).collect()
}

fn contents() -> [Content; 2] {
    let rows = (1..5u64).map(|n| {
        let data = token_data(&number(n), &number(n), n, 1);
        account(number(n), n, number(50), &data)
    });
    let transactions = [(vec![1, 3], false), (vec![2, 4], true)];
    [content_of(rows.collect()), transactions_of(&transactions)]
}

/// Parses bytes as a request of both calls, and applies what comes of it. How many were accepted.
fn apply(bytes: &[u8], contents: &[Content]) -> usize {
    let served = Served {
        scope: Scope::All,
        kept: Kept::Full,
    };
    let request = SubscribeRequest::decode(bytes).ok();
    let early = SubscribeDeshredRequest::decode(bytes).ok();
    let filters = request.map(|one| Filters::parse(&one, &served, 1_000));
    let early = early.map(|one| Filters::parse_deshred(&one, 1_000));
    let accepted: Vec<Filters> = [filters, early].into_iter().flatten().flatten().collect();
    for (filters, content) in accepted
        .iter()
        .flat_map(|one| contents.iter().map(move |of| (one, of)))
    {
        for (_, bits) in filters.match_all(content) {
            let _ = filters.account_names(bits);
        }
        for (_, bits) in block_on(match_transactions(filters, content)) {
            let _ = filters.transaction_names(bits);
        }
    }
    accepted.len()
}

#[test]
fn each_request_is_accepted_as_it_is() {
    let contents = contents();
    let accepted: Vec<usize> = valid().iter().map(|one| apply(one, &contents)).collect();
    assert!(accepted.iter().all(|&count| count >= 1), "{accepted:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn a_changed_request_is_usable_or_refused(
        kind in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        more in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        thread_local!(static FIXED: (Vec<Vec<u8>>, [Content; 2]) = (valid(), contents()));
        let mut bytes = FIXED.with(|(valid, _)| kind.get(valid).clone());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        bytes.extend(more);
        FIXED.with(|(_, contents)| apply(&bytes, contents));
    }
}

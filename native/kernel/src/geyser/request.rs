//! What is asked of the server.

use std::collections::HashMap;

use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter::Filter;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_lamports::Cmp;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_memcmp::Data;
use yellowstone_grpc_proto::geyser::{
    CommitmentLevel, SubscribeRequest, SubscribeRequestFilterAccounts,
    SubscribeRequestFilterAccountsFilter, SubscribeRequestFilterAccountsFilterLamports,
    SubscribeRequestFilterAccountsFilterMemcmp, SubscribeRequestFilterBlocksMeta,
    SubscribeRequestFilterSlots, SubscribeRequestFilterTransactions, SubscribeRequestPing,
};

use super::config::{AccountsFilter, GeyserConfig, Transactions};
use crate::Pubkey;
use crate::token::{CLOCK_SYSVAR, TOKEN_2022_PROGRAM, TOKEN_PROGRAM};

/// The subscription. Members of one filter are joined by "and", filters by "or".
pub fn subscribe_request(config: &GeyserConfig, from_slot: Option<u64>) -> SubscribeRequest {
    // Every level's statuses: FINALIZED ones tell the root.
    let slots = SubscribeRequestFilterSlots {
        filter_by_commitment: Some(false),
        ..SubscribeRequestFilterSlots::default()
    };
    // Failed ones too.
    let transactions = SubscribeRequestFilterTransactions {
        vote: (config.transactions != Transactions::LogsAndVotes).then_some(false),
        ..SubscribeRequestFilterTransactions::default()
    };
    let mut request = SubscribeRequest {
        accounts: accounts(&config.accounts),
        slots: HashMap::from([("slots".to_string(), slots)]),
        blocks_meta: HashMap::from([(
            "blocks".to_string(),
            SubscribeRequestFilterBlocksMeta::default(),
        )]),
        commitment: Some(CommitmentLevel::Confirmed.into()),
        from_slot,
        ..SubscribeRequest::default()
    };
    let asked = match config.transactions {
        Transactions::None => return request,
        Transactions::Status => &mut request.transactions_status,
        Transactions::Logs | Transactions::LogsAndVotes => &mut request.transactions,
    };
    asked.insert("transactions".to_string(), transactions);
    request
}

/// The answer to a ping. A request with a ping is read for nothing else, so it holds nothing else.
pub fn ping_request(id: i32) -> SubscribeRequest {
    SubscribeRequest {
        ping: Some(SubscribeRequestPing { id }),
        ..SubscribeRequest::default()
    }
}

fn accounts(filter: &AccountsFilter) -> HashMap<String, SubscribeRequestFilterAccounts> {
    let AccountsFilter::Listed {
        programs,
        mints,
        pubkeys,
    } = filter
    else {
        return HashMap::from([("all".to_string(), SubscribeRequestFilterAccounts::default())]);
    };
    let mut filters = HashMap::new();
    if !programs.is_empty() {
        let owner = programs.iter().map(encode).collect();
        filters.insert(
            "programs".to_string(),
            SubscribeRequestFilterAccounts {
                owner,
                ..SubscribeRequestFilterAccounts::default()
            },
        );
    }
    for (index, mint) in mints.iter().enumerate() {
        filters.insert(format!("mint{index}"), accounts_of_mint(mint));
    }
    // The Clock is always in scope: amounts of some mints depend on its time.
    let account = [&CLOCK_SYSVAR]
        .into_iter()
        .chain(mints)
        .chain(pubkeys)
        .map(encode)
        .collect();
    filters.insert(
        "pubkeys".to_string(),
        SubscribeRequestFilterAccounts {
            account,
            ..SubscribeRequestFilterAccounts::default()
        },
    );
    let closed = Filter::Lamports(SubscribeRequestFilterAccountsFilterLamports {
        cmp: Some(Cmp::Eq(0)),
    });
    filters.insert(
        "closed".to_string(),
        SubscribeRequestFilterAccounts {
            filters: vec![SubscribeRequestFilterAccountsFilter {
                filter: Some(closed),
            }],
            ..SubscribeRequestFilterAccounts::default()
        },
    );
    filters
}

fn accounts_of_mint(mint: &Pubkey) -> SubscribeRequestFilterAccounts {
    let memcmp = Filter::Memcmp(SubscribeRequestFilterAccountsFilterMemcmp {
        offset: 0,
        data: Some(Data::Bytes(mint.to_vec())),
    });
    SubscribeRequestFilterAccounts {
        owner: vec![encode(&TOKEN_PROGRAM), encode(&TOKEN_2022_PROGRAM)],
        filters: vec![SubscribeRequestFilterAccountsFilter {
            filter: Some(memcmp),
        }],
        ..SubscribeRequestFilterAccounts::default()
    }
}

fn encode(key: &Pubkey) -> String {
    let mut text = [0; five8::BASE58_ENCODED_32_MAX_LEN];
    let length = five8::encode_32(key, &mut text);
    String::from_utf8_lossy(text.get(..usize::from(length)).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(accounts: AccountsFilter) -> GeyserConfig {
        GeyserConfig {
            accounts,
            ..GeyserConfig::default()
        }
    }

    #[test]
    fn everything_is_one_empty_filter() {
        let request = subscribe_request(&config(AccountsFilter::All), Some(9));
        assert_eq!(request.accounts.len(), 1);
        assert_eq!(
            request.accounts["all"],
            SubscribeRequestFilterAccounts::default()
        );
        assert_eq!(request.commitment, Some(CommitmentLevel::Confirmed as i32));
        assert_eq!(request.slots["slots"].filter_by_commitment, Some(false));
        assert_eq!((request.blocks_meta.len(), request.from_slot), (1, Some(9)));
        assert!(request.transactions_status.is_empty() && request.ping.is_none());
    }

    #[test]
    fn transactions_are_asked_for_once_and_votes_only_where_they_are_wanted() {
        let cases = [
            (Transactions::None, None, None),
            (Transactions::Status, Some(Some(false)), None),
            (Transactions::Logs, None, Some(Some(false))),
            (Transactions::LogsAndVotes, None, Some(None)),
        ];
        for (transactions, status, whole) in cases {
            let config = GeyserConfig {
                transactions,
                ..config(AccountsFilter::All)
            };
            let request = subscribe_request(&config, None);
            let filters = [&request.transactions_status, &request.transactions];
            let votes = filters.map(|of| of.values().next().map(|filter| filter.vote));
            assert_eq!(votes, [status, whole], "{transactions:?}");
        }
    }

    #[test]
    fn a_scope_asks_for_closes_and_the_clock_too() {
        let listed = AccountsFilter::Listed {
            programs: vec![[1; 32]],
            mints: vec![[2; 32]],
            pubkeys: vec![[3; 32]],
        };
        let request = subscribe_request(&config(listed), None);
        assert_eq!(request.accounts["programs"].owner, vec![encode(&[1; 32])]);
        assert_eq!(request.accounts["mint0"].owner.len(), 2);
        assert_eq!(
            request.accounts["pubkeys"].account,
            vec![
                "SysvarC1ock11111111111111111111111111111111".to_string(),
                encode(&[2; 32]),
                encode(&[3; 32])
            ]
        );
        assert_eq!(request.accounts["closed"].filters.len(), 1);
        assert_eq!(request.accounts.len(), 4);
    }

    #[test]
    fn an_empty_scope_does_not_ask_for_everything() {
        let none = AccountsFilter::Listed {
            programs: vec![],
            mints: vec![],
            pubkeys: vec![],
        };
        let request = subscribe_request(&config(none), None);
        let is_any = |f: &SubscribeRequestFilterAccounts| {
            f.owner.is_empty() && f.account.is_empty() && f.filters.is_empty()
        };
        assert!(!request.accounts.values().any(is_any));
    }
}

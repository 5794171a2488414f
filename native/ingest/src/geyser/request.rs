//! Builds the subscription request.

use std::collections::HashMap;

use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter::Filter;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_lamports::Cmp;
use yellowstone_grpc_proto::geyser::subscribe_request_filter_accounts_filter_memcmp::Data;
use yellowstone_grpc_proto::geyser::{
    CommitmentLevel, SubscribeRequest, SubscribeRequestFilterAccounts,
    SubscribeRequestFilterAccountsFilter, SubscribeRequestFilterAccountsFilterLamports,
    SubscribeRequestFilterAccountsFilterMemcmp, SubscribeRequestFilterBlockFooter,
    SubscribeRequestFilterBlocks, SubscribeRequestFilterBlocksMeta, SubscribeRequestFilterEntry,
    SubscribeRequestFilterSlots, SubscribeRequestFilterTransactions, SubscribeRequestPing,
};

use super::accounts_filter::AccountsFilter;
use super::config::{GeyserConfig, Transactions};
use super::subscription_plan::{SubscriptionPlan, closing_programs};
use primitives::Pubkey;
use primitives::token::{CLOCK_SYSVAR, SYSVAR_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM};

/// Builds the subscription, with block footers or without. Conditions within a filter are joined by
/// "and", filters by "or".
pub fn subscribe_request(
    config: &GeyserConfig,
    from_slot: Option<u64>,
    has_footers: bool,
) -> SubscribeRequest {
    // Request statuses of all levels. FINALIZED gives the root. Others report that a slot is dead
    // or restarts, so data sent for it is invalid.
    let slots = SubscribeRequestFilterSlots {
        filter_by_commitment: Some(false),
        interslot_updates: Some(true),
    };
    let mut request = SubscribeRequest {
        slots: HashMap::from([("slots".to_string(), slots)]),
        commitment: Some(CommitmentLevel::Confirmed.into()),
        from_slot,
        ..SubscribeRequest::default()
    };
    let plan = config.plan.resolve(&config.accounts);
    if plan == SubscriptionPlan::Blocks {
        let blocks = SubscribeRequestFilterBlocks {
            include_accounts: Some(true),
            include_transactions: Some(false),
            include_entries: Some(false),
            ..SubscribeRequestFilterBlocks::default()
        };
        request.blocks.insert("blocks".to_string(), blocks);
    } else {
        request.accounts = accounts(&config.accounts, plan);
        let metas = SubscribeRequestFilterBlocksMeta::default();
        request.blocks_meta.insert("blocks".to_string(), metas);
    }
    if has_footers {
        // Servers of before proto 14.1 ignore it, and chains of TowerBFT have none.
        let footers = SubscribeRequestFilterBlockFooter {
            include_certificates: Some(true),
        };
        request.block_footer.insert("footers".to_string(), footers);
    }
    if config.transactions == Transactions::FullAndEntries {
        let entries = SubscribeRequestFilterEntry::default();
        request.entry.insert("entries".to_string(), entries);
    }
    ask_transactions(config, plan, &mut request);
    request
}

fn ask_transactions(config: &GeyserConfig, plan: SubscriptionPlan, request: &mut SubscribeRequest) {
    // Includes failed transactions.
    let all = SubscribeRequestFilterTransactions {
        vote: (!config.transactions.has_votes()).then_some(false),
        ..SubscribeRequestFilterTransactions::default()
    };
    let label = "transactions".to_string();
    match config.transactions {
        Transactions::None => None,
        Transactions::Status => request.transactions_status.insert(label, all),
        // These include every close.
        Transactions::Logs
        | Transactions::LogsAndVotes
        | Transactions::Full
        | Transactions::FullAndVotes
        | Transactions::FullAndEntries => {
            request.transactions.insert(label, all);
            return;
        }
    };
    let closing = closing_programs(&config.accounts);
    if plan == SubscriptionPlan::Narrow && !closing.is_empty() {
        let closes = SubscribeRequestFilterTransactions {
            failed: Some(false),
            account_include: closing.iter().map(encode).collect(),
            ..SubscribeRequestFilterTransactions::default()
        };
        request.transactions.insert("closes".to_string(), closes);
    }
}

/// The answer to a ping. Servers ignore all other fields of a request with a ping.
pub fn ping_request(id: i32) -> SubscribeRequest {
    SubscribeRequest {
        ping: Some(SubscribeRequestPing { id }),
        ..SubscribeRequest::default()
    }
}

pub(super) fn accounts(
    filter: &AccountsFilter,
    plan: SubscriptionPlan,
) -> HashMap<String, SubscribeRequestFilterAccounts> {
    let (programs, mints, pubkeys) = match filter {
        AccountsFilter::Listed {
            programs,
            mints,
            pubkeys,
        } if plan != SubscriptionPlan::Accounts => (programs, mints, pubkeys),
        _ => {
            let all = SubscribeRequestFilterAccounts::default();
            return HashMap::from([("all".to_string(), all)]);
        }
    };
    let mut filters = HashMap::new();
    let is_narrow = plan == SubscriptionPlan::Narrow;
    // The Clock is always in scope: amounts of some mints depend on its time. With a single filter
    // it is requested through its owner, for providers that allow only one.
    let is_one = is_narrow && !programs.is_empty() && mints.is_empty() && pubkeys.is_empty();
    if !programs.is_empty() {
        let sysvars = is_one.then_some(&SYSVAR_PROGRAM);
        let owner = programs.iter().chain(sysvars).map(encode).collect();
        let of_programs = SubscribeRequestFilterAccounts {
            owner,
            ..SubscribeRequestFilterAccounts::default()
        };
        filters.insert("programs".to_string(), of_programs);
    }
    for (index, mint) in mints.iter().enumerate() {
        filters.insert(format!("mint{index}"), accounts_of_mint(mint));
    }
    if is_one {
        return filters;
    }
    let pubkeys = [&CLOCK_SYSVAR].into_iter().chain(mints).chain(pubkeys);
    let listed = SubscribeRequestFilterAccounts {
        account: pubkeys.map(encode).collect(),
        ..SubscribeRequestFilterAccounts::default()
    };
    filters.insert("pubkeys".to_string(), listed);
    if !is_narrow {
        filters.insert("closed".to_string(), closed_accounts());
    }
    filters
}

fn closed_accounts() -> SubscribeRequestFilterAccounts {
    let no_lamports = Filter::Lamports(SubscribeRequestFilterAccountsFilterLamports {
        cmp: Some(Cmp::Eq(0)),
    });
    SubscribeRequestFilterAccounts {
        filters: vec![SubscribeRequestFilterAccountsFilter {
            filter: Some(no_lamports),
        }],
        ..SubscribeRequestFilterAccounts::default()
    }
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
    fn all_accounts_are_requested_with_one_empty_filter() {
        let request = subscribe_request(&config(AccountsFilter::All), Some(9), true);
        assert_eq!(request.accounts.len(), 1);
        assert_eq!(
            request.accounts["all"],
            SubscribeRequestFilterAccounts::default()
        );
        assert_eq!(request.commitment, Some(CommitmentLevel::Confirmed as i32));
        let slots = &request.slots["slots"];
        assert_eq!(slots.filter_by_commitment, Some(false));
        assert_eq!(slots.interslot_updates, Some(true), "forks are reported");
        assert_eq!((request.blocks_meta.len(), request.from_slot), (1, Some(9)));
        assert!(request.transactions_status.is_empty() && request.ping.is_none());
    }

    #[test]
    fn transactions_are_requested_once_and_votes_only_if_configured() {
        let cases = [
            (Transactions::None, None, None),
            (Transactions::Status, Some(Some(false)), None),
            (Transactions::Logs, None, Some(Some(false))),
            (Transactions::LogsAndVotes, None, Some(None)),
            (Transactions::Full, None, Some(Some(false))),
            (Transactions::FullAndVotes, None, Some(None)),
            (Transactions::FullAndEntries, None, Some(None)),
        ];
        for (transactions, status, whole) in cases {
            let config = GeyserConfig {
                transactions,
                ..config(AccountsFilter::All)
            };
            let request = subscribe_request(&config, None, true);
            let filters = [&request.transactions_status, &request.transactions];
            let votes = filters.map(|of| of.values().next().map(|filter| filter.vote));
            assert_eq!(votes, [status, whole], "{transactions:?}");
            let has_entries = transactions == Transactions::FullAndEntries;
            assert_eq!(!request.entry.is_empty(), has_entries, "{transactions:?}");
            assert_eq!(request.block_footer.len(), 1);
        }
    }

    #[test]
    fn a_scope_also_requests_closes_and_the_clock() {
        let listed = AccountsFilter::Listed {
            programs: vec![[1; 32]],
            mints: vec![[2; 32]],
            pubkeys: vec![[3; 32]],
        };
        let request = subscribe_request(&config(listed), None, true);
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
    fn plan_blocks_sets_no_account_filter() {
        let config = GeyserConfig {
            plan: SubscriptionPlan::Blocks,
            transactions: Transactions::Logs,
            ..config(listed(vec![[1; 32]], vec![], vec![]))
        };
        let request = subscribe_request(&config, None, true);
        let blocks = &request.blocks["blocks"];
        assert_eq!(
            (blocks.include_accounts, blocks.include_transactions),
            (Some(true), Some(false))
        );
        assert!(blocks.account_include.is_empty());
        assert!(request.accounts.is_empty() && request.blocks_meta.is_empty());
        assert_eq!(request.transactions.len(), 1);
    }

    #[test]
    fn plan_accounts_requests_all_accounts_for_a_scope() {
        let config = GeyserConfig {
            plan: SubscriptionPlan::Accounts,
            ..config(listed(vec![[1; 32]], vec![], vec![]))
        };
        let request = subscribe_request(&config, None, true);
        let keys: Vec<_> = request.accounts.keys().collect();
        assert_eq!(keys, ["all"]);
    }

    #[test]
    fn plan_narrow_uses_one_filter_of_each_kind() {
        let narrow = |accounts, transactions| GeyserConfig {
            plan: SubscriptionPlan::Narrow,
            transactions,
            ..config(accounts)
        };
        // One filter of each kind, the limit in the plugin's sample configurations.
        let one = listed(vec![[1; 32]], vec![], vec![]);
        let request = subscribe_request(&narrow(one.clone(), Transactions::None), None, true);
        assert_eq!(request.accounts.len(), 1);
        assert_eq!(
            request.accounts["programs"].owner,
            [
                encode(&[1; 32]),
                "Sysvar1111111111111111111111111111111111111".to_string()
            ]
        );
        let closes = &request.transactions["closes"];
        assert_eq!(closes.account_include, [encode(&[1; 32])]);
        assert_eq!(
            (closes.failed, request.transactions.len()),
            (Some(false), 1)
        );
        // Transaction statuses are another kind of filter.
        let request = subscribe_request(&narrow(one.clone(), Transactions::Status), None, true);
        assert!(request.transactions.contains_key("closes"));
        assert_eq!(request.transactions_status.len(), 1);
        // All transactions include the closes.
        let request = subscribe_request(&narrow(one, Transactions::Logs), None, true);
        let labels: Vec<_> = request.transactions.keys().collect();
        assert_eq!(labels, ["transactions"]);
        // A filter by address delivers the close itself.
        let keys = listed(vec![], vec![], vec![[3; 32]]);
        let request = subscribe_request(&narrow(keys, Transactions::None), None, true);
        assert!(request.transactions.is_empty() && !request.accounts.contains_key("closed"));
        assert_eq!(request.accounts["pubkeys"].account.len(), 2);
    }

    fn listed(programs: Vec<Pubkey>, mints: Vec<Pubkey>, pubkeys: Vec<Pubkey>) -> AccountsFilter {
        AccountsFilter::Listed {
            programs,
            mints,
            pubkeys,
        }
    }

    #[test]
    fn an_empty_scope_does_not_request_all_accounts() {
        let none = AccountsFilter::Listed {
            programs: vec![],
            mints: vec![],
            pubkeys: vec![],
        };
        let request = subscribe_request(&config(none), None, true);
        let is_any = |f: &SubscribeRequestFilterAccounts| {
            f.owner.is_empty() && f.account.is_empty() && f.filters.is_empty()
        };
        assert!(!request.accounts.values().any(is_any));
    }
}

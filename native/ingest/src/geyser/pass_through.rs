//! Streams of a server that are passed through to clients: what is requested, and how they open.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::timeout;
use tonic::{Code, Status};
use yellowstone_grpc_proto::geyser::{
    CommitmentLevel, SubscribeRequest, SubscribeRequestFilterBlocksMeta,
    SubscribeRequestFilterSlots, SubscribeRequestFilterTransactions,
};
use yellowstone_grpc_proto::prost::Message;

use super::client::{Subscription, connect, no_answer, open, token_of};
use super::config::GeyserConfig;
use super::failure::Failure;
use super::request::accounts;
use super::subscription_plan::SubscriptionPlan;

/// Why a stream that is passed through has ended, or was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The server has no such call.
    Call,
    /// It does not allow the filters.
    Filters,
    Other,
}

/// The class of a status, and what the log says of it: without the token and the path of the
/// endpoint.
pub fn classify(config: &GeyserConfig, status: &Status) -> (Refused, String) {
    let refused = match status.code() {
        Code::Unimplemented => Refused::Call,
        Code::InvalidArgument => Refused::Filters,
        _ => Refused::Other,
    };
    (refused, Failure::from_status(config, status).text())
}

/// Connects, and opens a stream of `path` with one request.
pub async fn open_stream<Q, A>(
    config: &GeyserConfig,
    path: &'static str,
    request: Q,
) -> Result<Subscription<Q, A>, (Refused, String)>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let other = |failure: Failure| (Refused::Other, failure.text());
    let token = token_of(config).map_err(other)?;
    let channel = connect(config).await.map_err(other)?;
    let silence = Duration::from_millis(config.block_silence_ms);
    timeout(silence, open(config, channel, token, path, request))
        .await
        .map_err(|_| other(no_answer(config)))?
        .map_err(|status| classify(config, &status))
}

/// What a stream at PROCESSED is requested for, beside the statuses of slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds {
    pub accounts: bool,
    pub transactions: bool,
    pub blocks_meta: bool,
}

/// Builds a subscription at PROCESSED: of each kind all that the store would take.
pub fn processed_request(config: &GeyserConfig, kinds: Kinds) -> SubscribeRequest {
    let plan = match config.plan.resolve(&config.accounts) {
        SubscriptionPlan::Blocks => SubscriptionPlan::Auto.resolve(&config.accounts),
        plan => plan,
    };
    let slots = SubscribeRequestFilterSlots {
        filter_by_commitment: Some(false),
        interslot_updates: Some(true),
    };
    let mut request = SubscribeRequest {
        slots: HashMap::from([("slots".to_string(), slots)]),
        commitment: Some(CommitmentLevel::Processed.into()),
        ..SubscribeRequest::default()
    };
    if kinds.accounts {
        request.accounts = accounts(&config.accounts, plan);
    }
    if kinds.transactions {
        let all = SubscribeRequestFilterTransactions {
            vote: (!config.transactions.has_votes()).then_some(false),
            ..SubscribeRequestFilterTransactions::default()
        };
        request.transactions.insert("transactions".to_string(), all);
    }
    if kinds.blocks_meta {
        let metas = SubscribeRequestFilterBlocksMeta::default();
        request.blocks_meta.insert("blocks".to_string(), metas);
    }
    request
}

#[cfg(test)]
mod tests {
    use super::super::accounts_filter::AccountsFilter;
    use super::super::config::Transactions;
    use super::*;

    #[test]
    fn a_stream_at_processed_asks_for_its_kinds_only() {
        let all = Kinds {
            accounts: true,
            transactions: true,
            blocks_meta: true,
        };
        let listed = AccountsFilter::Listed {
            programs: vec![[1; 32]],
            mints: vec![],
            pubkeys: vec![],
        };
        let config = GeyserConfig {
            plan: SubscriptionPlan::Blocks,
            transactions: Transactions::Full,
            accounts: listed,
            ..GeyserConfig::default()
        };
        let request = processed_request(&config, Kinds::default());
        assert_eq!(request.commitment, Some(CommitmentLevel::Processed as i32));
        assert_eq!(request.slots.len(), 1);
        assert!(request.accounts.is_empty() && request.transactions.is_empty());
        assert!(request.blocks_meta.is_empty() && request.blocks.is_empty());
        let request = processed_request(&config, all);
        assert_eq!(request.accounts["programs"].owner.len(), 1);
        assert_eq!(request.transactions["transactions"].vote, Some(false));
        assert_eq!((request.blocks_meta.len(), request.blocks.len()), (1, 0));
    }
}

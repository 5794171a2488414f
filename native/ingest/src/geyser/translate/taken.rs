//! The parts of transactions that a configuration needs.

use crate::geyser::config::{GeyserConfig, Transactions};
use crate::geyser::subscription_plan::SubscriptionPlan;

/// Which data to extract from a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The transaction itself, for the store's feed. False if it was requested only for its closes.
    pub transactions: bool,
    /// All of it.
    pub is_full: bool,
    /// The accounts whose lamports it reduced to zero.
    pub closes: bool,
}

impl Taken {
    pub fn of(config: &GeyserConfig) -> Taken {
        let transactions = config.transactions;
        Taken {
            transactions: !matches!(transactions, Transactions::None | Transactions::Status),
            is_full: transactions.is_full(),
            closes: config.plan.resolve(&config.accounts) == SubscriptionPlan::Narrow,
        }
    }
}

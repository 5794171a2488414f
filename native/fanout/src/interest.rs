//! What a subscription subscribes to.

use std::sync::Arc;

use primitives::Pubkey;
use store::Filter;
use wire::account_json::View;

/// One subscription, with the client's parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interest {
    Account {
        pubkey: Pubkey,
        view: View,
    },
    /// An account must match all filters.
    Program {
        program: Pubkey,
        filters: Arc<[Filter]>,
        view: View,
    },
    Logs(LogsOf),
    /// Ends after the frame of the outcome.
    Signature {
        signature: [u8; 64],
        /// Wait until the transaction's slot is final.
        is_finalized: bool,
        /// Send one frame before the outcome's.
        wants_received: bool,
    },
    Slot,
    Root,
}

/// Transactions whose logs are subscribed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogsOf {
    /// All except votes.
    All,
    AllWithVotes,
    /// Those that name this account, including votes.
    Mentions(Pubkey),
}

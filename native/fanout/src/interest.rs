//! What a subscription wants to hear of.

use std::sync::Arc;

use primitives::Pubkey;
use store::Filter;
use wire::account_json::View;

/// One subscription, as its client asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interest {
    Account {
        pubkey: Pubkey,
        view: View,
    },
    /// All filters must hold.
    Program {
        program: Pubkey,
        filters: Arc<[Filter]>,
        view: View,
    },
    Logs(LogsOf),
    /// Ends by itself, with the frame of the outcome.
    Signature {
        signature: [u8; 64],
        /// Wait until the transaction's slot is final.
        is_finalized: bool,
        /// One more frame before the outcome's.
        wants_received: bool,
    },
    Slot,
    Root,
}

/// The transactions whose logs are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogsOf {
    /// All but votes.
    All,
    AllWithVotes,
    /// Those that name this account, votes too.
    Mentions(Pubkey),
}

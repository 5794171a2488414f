//! What a subscription subscribes to.

use std::sync::Arc;

use super::cursor::{Cursor, Place};
use primitives::Pubkey;
use store::Filter;
use wire::account_json::View;
use wire::transaction_json::TransactionView;

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
    Transactions {
        filter: Arc<TransactionFilter>,
        view: TransactionView,
    },
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

impl Interest {
    /// Where a subscription goes on from this place: the place without what it never notifies.
    pub(crate) fn place_after(&self, place: Place) -> Place {
        match (self, place) {
            (Interest::Root, _) => Place::Root,
            (Interest::Slot, _) => Place::End,
            (Interest::Logs(_) | Interest::Transactions { .. }, Place::Account(_)) => Place::Slot,
            (Interest::Account { .. } | Interest::Program { .. }, Place::Transaction(_)) => {
                Place::End
            }
            (_, place) => place,
        }
    }
}

/// A subscription with its cursors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    pub interest: Interest,
    /// Each frame carries a cursor.
    pub has_cursors: bool,
    pub resume: Option<Resume>,
}

impl From<Interest> for Subscription {
    fn from(interest: Interest) -> Subscription {
        Subscription {
            interest,
            has_cursors: false,
            resume: None,
        }
    }
}

/// Continues a subscription after an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    pub cursor: Cursor,
    /// Accesses take turns.
    pub access: Arc<str>,
    /// The socket, which [`crate::Fanout::hold`] names.
    pub socket: u32,
}

/// Transactions that match all of it; `None` and empty lists match any. The lists are of accounts,
/// also of those that lookup tables load.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransactionFilter {
    pub is_vote: Option<bool>,
    pub is_failed: Option<bool>,
    pub signature: Option<[u8; 64]>,
    /// One of them, unless there are none.
    pub include: Box<[Pubkey]>,
    /// None of them.
    pub exclude: Box<[Pubkey]>,
    /// All of them.
    pub required: Box<[Pubkey]>,
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

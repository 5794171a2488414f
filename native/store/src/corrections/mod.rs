//! Accounts whose stored state differs from an upstream RPC's.

pub(crate) mod queue;
pub(crate) mod reconcile;

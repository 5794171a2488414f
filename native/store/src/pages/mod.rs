//! Pages of accounts.

pub(crate) mod plan;
pub(crate) mod query;
pub(crate) mod scan;

//! The rows derived from accounts.

pub(crate) mod delta;
pub(crate) mod holder_row;
pub(crate) mod holder_scan;
pub(crate) mod holders;
pub(crate) mod largest;
pub(crate) mod programs;
pub(crate) mod refill;

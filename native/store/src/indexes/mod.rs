//! The rows derived from accounts.

pub(crate) mod delta;
pub(crate) mod holders;
pub(crate) mod programs;

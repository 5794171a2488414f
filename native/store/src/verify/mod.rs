//! Checks that the tables agree with each other.

pub(crate) mod check;
mod check_history;
mod slice_check;
pub(crate) mod slices;
pub(crate) mod steps;

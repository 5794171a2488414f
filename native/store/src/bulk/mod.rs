//! Builds a new store from sorted rows.

pub(crate) mod rows;
mod write_back;
pub(crate) mod writer;

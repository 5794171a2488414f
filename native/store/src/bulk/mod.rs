//! Builds a new store from sorted rows.

pub(crate) mod rows;
pub(crate) mod write_back;
pub(crate) mod writer;

//! The changes and transaction outcomes of recent slots.

pub(crate) mod feed_read;
pub(crate) mod feed_write;
pub(crate) mod signatures;

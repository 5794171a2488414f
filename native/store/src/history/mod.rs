//! The changes, transaction outcomes and fees of recent slots.

pub(crate) mod feed_read;
pub(crate) mod feed_record;
pub(crate) mod feed_segments;
pub(crate) mod feed_write;
pub(crate) mod fees;
pub(crate) mod signatures;

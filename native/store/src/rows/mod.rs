//! The layouts of keys and values.

pub(crate) mod change;
pub(crate) mod full;
pub(crate) mod keys;
pub(crate) mod part;
pub(crate) mod record;
pub mod row_codec;

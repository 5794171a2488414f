//! Writes blocks, and the newest versions of many accounts.

pub(crate) mod accounts;
mod beside;
pub(crate) mod blocks;
pub(crate) mod catch_up;
pub(crate) mod prefault;
pub(crate) mod refill;

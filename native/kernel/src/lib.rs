//! Checks of submitted transactions.

#![deny(clippy::all)]

pub mod transaction;

pub use primitives::{Pubkey, encoding, token};
pub use sys::{error, pool, process};

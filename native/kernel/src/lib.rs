//! Everything in Slotline that touches bytes: the accounts store, account JSON, token parsing, the
//! fast lane for point reads and the Yellowstone reader. Plain Rust; `native/addon` is the only
//! napi crate.

#![deny(clippy::all)]

pub mod account_json;
pub mod bootstrap;
pub mod encoding;
pub mod error;
pub mod fanout;
pub mod fast_lane;
pub mod geyser;
pub mod pool;
pub mod process;
pub mod reads;
pub mod reply;
pub mod shared_cells;
pub mod store;
pub mod token;
pub mod transaction;

/// A Solana address: 32 raw bytes. Order of bytes is the order of pages.
pub type Pubkey = [u8; 32];

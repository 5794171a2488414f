//! Addresses, token layouts and text encodings of Solana.

#![deny(clippy::all)]
#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables of cases"))]

pub mod encoding;
pub mod token;
pub mod writable;

/// A Solana address: 32 raw bytes. Pages are ordered by these bytes.
pub type Pubkey = [u8; 32];

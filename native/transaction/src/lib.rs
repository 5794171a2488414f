//! Checks signed transactions from clients: framing, canonical base64, the validator's own parser
//! and sanitizer, signatures, tips and bundle ids. The bytes alone decide, without a chain.

#![deny(clippy::all)]
#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables of cases"))]

mod bundle;
mod check;
mod frames;
mod keys;
mod layout;
mod lifetime;
mod loops;
mod parse;
mod refusal;
mod signature;
mod tips;
mod view;
mod writable;

pub use bundle::bundle_id;
pub use check::{
    Decoded, Member, Problem, Verdict, check_batch, check_bundle, check_transaction, decode,
    read_bundle_id, read_signature, text_length,
};
pub use frames::{Fault, RECORD_BYTES_MAX, RECORD_BYTES_MIN, RECORDS_MAX, frame_batch};
pub use lifetime::Lifetime;
pub use loops::{Loops, compare_loops};
pub use parse::parse;
pub use signature::{Signature, SignatureRule, is_signed, verify};
pub use tips::{Rules, TipClass, Tips, tips};
pub use view::BYTES_MAX;
pub use writable::{Writable, writable};

#[cfg(test)]
mod tests;

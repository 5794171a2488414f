//! Checks signed transactions from clients: framing, canonical base64, the validator's own parser
//! and sanitizer, strict signatures, tips and bundle ids. The bytes alone decide, without a chain.

#![deny(clippy::all)]

mod base64;
mod bundle;
mod check;
mod frames;
mod job;
mod keys;
mod known_keys;
mod layout;
mod loops;
mod parse;
mod refusal;
mod signature;
mod tips;
mod view;
mod work_claims;

pub use base64::{decode_canonical, text_length};
pub use bundle::bundle_id;
pub use check::{Check, Given, Member, Problem, Verdict, check_batch, check_bundle, decode};
pub use frames::{Fault, RECORD_BYTES_MAX, RECORD_BYTES_MIN, RECORDS_MAX, frame_batch};
pub use job::submit;
pub use loops::{Loops, compare_loops};
pub use parse::parse;
pub use signature::{Signature, is_signed, verify};
pub use tips::{Rules, TipClass, Tips, tips};
pub use view::BYTES_MAX;

#[cfg(test)]
mod tests;

//! Replies as JSON: accounts, the read methods, the fast lane for point reads, and the pipe to the
//! event loop.

#![deny(clippy::all)]

pub mod account_json;
pub mod fast_lane;
pub mod reads;
pub mod reply;

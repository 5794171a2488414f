//! Replies as JSON: accounts, the read methods, the fast lane for point reads, long
//! messages, answers of upstreams, and the pipe to the event loop.

#![deny(clippy::all)]
#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables of cases"))]

pub mod account_json;
pub mod fast_lane;
pub mod fees;
pub mod message;
pub mod reads;
pub mod reply;
pub mod transaction_json;
pub mod upstream;

//! Answers of an edge before any JavaScript runs: a token that JavaScript has admitted a moment
//! ago, within its limits, with a canonical point read. Everything else is declined, and goes the
//! ordinary way, which alone refuses.

#![deny(clippy::all)]

mod answers;
mod cells;
mod counts;
mod latency;
mod limits;
mod memory;
mod rate;

pub use answers::{ACCESS_VERSION, Answers, Entry, LEASE_END, PointReads, Slot, now_ns};
pub use cells::Cells;
pub use counts::Counts;
pub use limits::{Access, Exceeded, InUse, LimitTable, Limits, Refusal, RowCounts};
pub use memory::Memory;
pub use rate::{Clock, Rate, Stale};

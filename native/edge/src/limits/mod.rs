//! The limits of accesses over all edges of the machine: the table of what they have in use, and
//! the rules by which an edge admits requests, WebSockets and subscriptions.

mod access;
#[cfg(all(test, feature = "model"))]
mod model;
mod table;
#[cfg(all(test, not(feature = "model")))]
pub mod tests;

pub use access::{Access, Exceeded, Limits, Refusal};
pub use table::{InUse, LimitTable, RowCounts};

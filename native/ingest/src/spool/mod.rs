//! Stores blocks of a feed on disk until a store can apply them.
//!
//! A store loaded from a snapshot is hours behind the chain, longer than any feed can replay. The
//! feed is therefore read into a spool first, then the store is loaded, then the spool is replayed
//! into the store. After that the feed's blocks go directly to the store. No block is lost or
//! duplicated, and the subscription continues throughout.

mod codec;
mod files;
mod options;
mod record;
mod replay;
mod sink;
#[cfg(test)]
mod tests;

pub use options::{Link, SpoolOptions};
pub use replay::{ReplayLimits, Replayed, Replaying};
pub use sink::{Spool, SpoolStats};

//! Streams of the source that are passed through: PROCESSED, and transactions before they are
//! executed. All clients of a network share one stream of each.

mod batch;
mod call;
mod hub;
mod passing;
mod reader;
mod ring;

pub use call::{Deshred, Processed};
pub use hub::{Follow, Hub, HubStats};
pub use passing::Passing;
pub use reader::{Source, run};

#[cfg(test)]
pub use batch::Batches;
#[cfg(test)]
pub use call::Call;
#[cfg(test)]
pub use ring::{BYTES_MAX, End};

//! Lanes over QUIC: one transaction a stream, over a connection that is open before it is needed.
//!
//! A lane knows nothing of transactions or of answers: it writes bytes to a stream, and returns
//! what the peer writes back.

#![deny(clippy::all)]

mod client;
mod identity;
mod lane;
mod options;
mod reason;
mod stream;

pub use client::system_roots;
pub use identity::Identity;
pub use lane::{Lane, State};
pub use options::{Greeting, Head, Options, Roots};
pub use stream::{End, Sent};

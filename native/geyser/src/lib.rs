//! Yellowstone gRPC (`geyser.Geyser` of yellowstone-grpc-proto 14) for clients: what the index has
//! of confirmed blocks, as streams. Knows neither tokens nor limits of accesses: a call that comes
//! is an [`Event`], and whoever has the other end of the queue decides.

#![deny(clippy::all)]

mod account_filter;
mod calls;
mod codec;
mod connection;
mod content;
mod control;
mod filter;
mod keys;
mod message;
mod network;
mod pace;
mod server;
mod service;
mod shared;
mod status;
mod subscription;
mod tls;
mod transaction_filter;
mod unary;
mod walk;

pub use calls::{Event, Verdict};
pub use server::{ListenerOptions, Options, STALL, Server, Stats};
pub use status::Refusal;
pub use tls::Pem;
pub use transaction_filter::Kept;

#[cfg(test)]
mod tests;

//! Yellowstone gRPC (`geyser.Geyser` of yellowstone-grpc-proto 14) for clients: what the index has
//! of confirmed blocks, as streams. Knows neither tokens nor limits of accesses: a call that comes
//! is an [`Event`], and whoever has the other end of the queue decides.

#![deny(clippy::all)]

mod calls;
mod codec;
mod connection;
mod content;
mod control;
mod filter;
mod message;
mod network;
mod pace;
mod reflection;
mod sending;
mod server;
mod service;
mod shared;
mod source;
mod status;
mod subscription;
mod tls;
mod token_owners;
mod unary;
mod walk;

pub use calls::{Event, Verdict};
pub use filter::transactions::Kept;
pub use server::{ListenerOptions, Options, STALL, Server, Stats};
pub use source::HubStats;
pub use status::Refusal;
pub use tls::Pem;

#[cfg(test)]
mod tests;

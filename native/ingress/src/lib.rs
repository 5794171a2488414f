//! Transactions over QUIC, as `lunar-lander-quic-client` sends them: a stream has one transaction,
//! and the client's certificate the token. Knows neither tokens nor submissions: what arrives is an
//! [`Event`], and who has the other end of the queue decides.

#![deny(clippy::all)]

mod certificate;
mod close;
mod connection;
mod connection_ids;
mod dialect;
mod event;
mod frame;
mod listener;
mod shared;
mod socket;
mod stream;
mod tls;

pub use certificate::{Identity, identify};
pub use close::Close;
pub use dialect::Dialect;
pub use event::Event;
pub use listener::{Listener, Options, Stats};
pub use tls::Pem;

#[cfg(test)]
mod tests;

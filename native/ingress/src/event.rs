//! What a listener reports to the event loop.

use std::net::IpAddr;

/// What a listener reports.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A client has shown a token, and waits for `admit` or `refuse`.
    Connected {
        connection: u32,
        address: IpAddr,
        token: String,
        wants_protection: bool,
    },
    /// A whole stream of an admitted connection, which waits for `answer`, also if nobody reads it.
    Transaction {
        connection: u32,
        stream: u64,
        bytes: Vec<u8>,
    },
    /// An admitted connection has ended, and nothing more of it follows.
    Closed { connection: u32 },
}

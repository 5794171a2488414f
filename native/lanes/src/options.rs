//! What a lane is made of.

use std::time::Duration;

use crate::identity::Identity;

/// One lane: where it leads, as whom, and its bounds.
pub struct Options {
    pub host: String,
    pub port: u16,
    /// Of the handshake (SNI).
    pub server_name: String,
    /// Protocol of the handshake (ALPN).
    pub protocol: Vec<u8>,
    pub identity: Identity,
    /// Whether each stream is answered; otherwise it leads one way.
    pub is_answered: bool,
    /// Longest answer. A longer one is none.
    pub answer_bytes_max: usize,
    /// Streams in flight, each with one transaction. One more is refused: there is no queue.
    pub streams_max: usize,
    /// Longest wait for a stream that the peer grants; then nothing was written.
    pub stream_wait: Duration,
    /// From the first byte written to the end of the answer.
    pub answer_wait: Duration,
    /// Time for the name, the handshake and the certificates.
    pub connect_wait: Duration,
    pub keep_alive: Duration,
    /// A connection is given up when its peer was silent for so long.
    pub idle: Duration,
    /// First pause before the next attempt to connect, and the longest: each is twice as long as
    /// the one before.
    pub pause_min: Duration,
    pub pause_max: Duration,
}

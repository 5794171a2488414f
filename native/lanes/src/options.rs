//! What a lane is made of.

use std::sync::Arc;
use std::time::Duration;

use quinn::rustls::RootCertStore;

use crate::identity::Identity;

/// Authorities that a peer's certificate may be of.
pub type Roots = Arc<RootCertStore>;

/// What a peer is sent on the first stream of a connection, before any transaction.
pub struct Greeting {
    pub bytes: Vec<u8>,
    /// Whether its stream is answered, with a byte that is zero where the peer knows the key.
    pub is_answered: bool,
}

/// The head of an answer that does not end with its stream.
#[derive(Clone, Copy)]
pub struct Head {
    pub bytes: usize,
    /// So many of its last bytes are the length of what follows, big-endian. 0: nothing follows.
    pub length_bytes: usize,
}

/// One lane: where it leads, as whom, and its bounds.
pub struct Options {
    pub host: String,
    pub port: u16,
    /// Of the handshake (SNI).
    pub server_name: String,
    /// Protocol of the handshake (ALPN); empty for none.
    pub protocol: Vec<u8>,
    pub identity: Identity,
    /// Whom the peer's certificate has to be issued by; absent: any is taken.
    pub roots: Option<Roots>,
    pub greeting: Option<Greeting>,
    /// Whether each stream is answered; otherwise it leads one way.
    pub is_answered: bool,
    /// Absent: an answer ends with its stream.
    pub answer_head: Option<Head>,
    /// Longest answer with its head. A longer one is none.
    pub answer_bytes_max: usize,
    /// Streams in flight, each with one transaction. One more is refused: there is no queue.
    pub streams_max: usize,
    /// Longest wait for a stream that the peer grants; then nothing was written.
    pub stream_wait: Duration,
    /// From the first byte written to the end of the answer.
    pub answer_wait: Duration,
    /// Time for the name, the handshake and the greeting.
    pub connect_wait: Duration,
    pub keep_alive: Duration,
    /// A connection is given up when its peer was silent for so long.
    pub idle: Duration,
    /// First pause before the next attempt to connect, and the longest: each is twice as long as
    /// the one before.
    pub pause_min: Duration,
    pub pause_max: Duration,
}

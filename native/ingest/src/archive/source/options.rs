//! Options of a transfer, and an opened archive.

use std::io::Read;

use crate::archive::name::ArchiveName;

/// Options of a transfer from a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceOptions {
    /// Time-out of the TCP and TLS handshakes. A distant server needs under 1 s; more is an outage.
    pub connect_ms: u64,
    /// A transfer without a byte for this long counts as broken. A busy disk answers within
    /// seconds.
    pub silence_ms: u64,
    /// Maximum of successive redirects. Validators send one, a load balancer before them another.
    pub redirects_max: u32,
    /// Maximum of successive attempts without enough progress.
    pub attempts_max: u32,
    /// Progress since the last break, in bytes, that resets the count of attempts.
    pub worthwhile_bytes: u64,
    /// First pause between two attempts. Doubles with each further one.
    pub backoff_initial_ms: u64,
    /// Longest pause, even if a server asks for a longer one.
    pub backoff_max_ms: u64,
    /// Bytes fetched ahead of the reader; at least one socket read.
    pub ahead_bytes_max: u64,
    /// PEM of a private certificate authority, used instead of the system's.
    pub ca_certificate_pem: Option<String>,
}

impl Default for SourceOptions {
    fn default() -> Self {
        SourceOptions {
            connect_ms: 10_000,
            silence_ms: 60_000,
            redirects_max: 5,
            attempts_max: 8,
            worthwhile_bytes: 64 << 20,
            backoff_initial_ms: 500,
            backoff_max_ms: 30_000,
            ahead_bytes_max: 16 << 20,
            ca_certificate_pem: None,
        }
    }
}

/// An opened archive.
pub struct Source {
    /// Name of the file, or of the last redirect.
    pub name: ArchiveName,
    /// Compressed bytes, if the source reports them.
    pub bytes: Option<u64>,
    pub reader: Box<dyn Read + Send>,
}

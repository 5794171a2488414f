//! Why connections and streams are ended.

use quinn::VarInt;

/// Why a connection is closed. The numbers are ours; clients show the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// The token is valid neither here nor now, or no longer.
    InvalidAuth = 1,
    /// There is no certificate, or none with one name that could be a token.
    BadCert = 2,
    /// The access, the address or the edge has as many connections as it may.
    ConnectionLimit = 3,
    /// The edge ends, or does not answer.
    Unavailable = 4,
    /// The connection was admitted for one address. The client is to connect again.
    AddressChanged = 5,
    /// The client asks for protection from MEV, of which nothing can be promised.
    ProtectionUnavailable = 6,
}

const ALL: [Close; 6] = [
    Close::InvalidAuth,
    Close::BadCert,
    Close::ConnectionLimit,
    Close::Unavailable,
    Close::AddressChanged,
    Close::ProtectionUnavailable,
];

impl Close {
    pub fn reason(self) -> &'static str {
        match self {
            Close::InvalidAuth => "invalid_auth",
            Close::BadCert => "bad_cert",
            Close::ConnectionLimit => "connection_limit",
            Close::Unavailable => "unavailable",
            Close::AddressChanged => "address_changed",
            Close::ProtectionUnavailable => "protection_unavailable",
        }
    }

    pub fn named(reason: &str) -> Option<Close> {
        ALL.into_iter().find(|close| close.reason() == reason)
    }

    pub(crate) fn code(self) -> VarInt {
        VarInt::from_u32(self as u32)
    }

    pub(crate) fn apply(self, connection: &quinn::Connection) {
        connection.close(self.code(), self.reason().as_bytes());
    }
}

/// A stream has more bytes than a transaction may have.
pub(crate) const TOO_LONG: VarInt = VarInt::from_u32(1);
/// A stream was not written in time.
pub(crate) const TOO_SLOW: VarInt = VarInt::from_u32(2);
/// There is no room for a stream.
pub(crate) const NO_ROOM: VarInt = VarInt::from_u32(3);

//! Why a connection or a stream ended, in words for a log.

use quinn::{ConnectionError, ReadError, ReadExactError, ReadToEndError, WriteError};

/// Characters of what a peer said.
const CHARS_MAX: usize = 128;

/// What a peer said, the beginning of it.
fn said(text: &[u8]) -> String {
    String::from_utf8_lossy(text)
        .chars()
        .take(CHARS_MAX)
        .collect()
}

pub fn of_connection(error: &ConnectionError) -> String {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            format!("closed with {}: {}", close.error_code, said(&close.reason))
        }
        ConnectionError::ConnectionClosed(close) => {
            format!("refused with {}: {}", close.error_code, said(&close.reason))
        }
        ConnectionError::TimedOut => "silent".into(),
        ConnectionError::Reset => "reset".into(),
        ConnectionError::LocallyClosed => "closed here".into(),
        ConnectionError::VersionMismatch => "another version of QUIC".into(),
        ConnectionError::CidsExhausted => "no connection ids".into(),
        ConnectionError::TransportError(error) => format!("transport error {}", error.code),
    }
}

pub fn of_write(error: &WriteError) -> String {
    match error {
        WriteError::Stopped(code) => format!("stopped with {code}"),
        WriteError::ConnectionLost(error) => of_connection(error),
        WriteError::ClosedStream | WriteError::ZeroRttRejected => "no stream".into(),
    }
}

pub const TOO_LONG: &str = "a longer answer than any";

fn of_stream(error: &ReadError) -> String {
    match error {
        ReadError::Reset(code) => format!("reset with {code}"),
        ReadError::ConnectionLost(error) => of_connection(error),
        _ => "no stream".into(),
    }
}

pub fn of_read(error: &ReadToEndError) -> String {
    match error {
        ReadToEndError::TooLong => TOO_LONG.into(),
        ReadToEndError::Read(error) => of_stream(error),
    }
}

pub fn of_exact(error: &ReadExactError) -> String {
    match error {
        ReadExactError::FinishedEarly(_) => "a shorter answer than any".into(),
        ReadExactError::ReadError(error) => of_stream(error),
    }
}

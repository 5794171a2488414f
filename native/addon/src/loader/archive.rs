//! Limits of an archive and its transfer, from JavaScript.

use ingest::archive::{ArchiveLimits, READ_BYTES, SourceOptions};
use napi_derive::napi;
use sys::error::Result as Checked;

use crate::arguments::{integer, whole, wrong};

/// The maximum read ahead. More memory gains nothing, because the transfer waits for its reader.
const AHEAD_BYTES_MAX: u64 = 1 << 30;

/// What an archive and its transfer may take.
#[napi(object)]
pub struct ArchiveOptions {
    pub storage_bytes_max: f64,
    pub members_max: f64,
    pub unpacked_bytes_max: f64,
    pub connect_ms: f64,
    pub silence_ms: f64,
    pub redirects_max: f64,
    pub attempts_max: f64,
    pub worthwhile_bytes: f64,
    pub backoff_initial_ms: f64,
    pub backoff_max_ms: f64,
    pub ahead_bytes_max: f64,
    /// A private certificate authority, in place of the system's.
    pub ca_certificate_pem: Option<String>,
}

/// At most seven weeks, so that no clock overflows.
fn ms(number: f64, what: &str) -> Checked<u64> {
    whole(number, u32::MAX, what).map(u64::from)
}

/// At least one.
fn some(number: f64, what: &str) -> Checked<u64> {
    match integer(number, what)? {
        0 => Err(wrong(what)),
        number => Ok(number),
    }
}

impl ArchiveOptions {
    pub(super) fn to_native(&self) -> Checked<(SourceOptions, ArchiveLimits)> {
        let ahead_bytes_max = integer(self.ahead_bytes_max, "aheadBytesMax")?;
        if !(READ_BYTES as u64..=AHEAD_BYTES_MAX).contains(&ahead_bytes_max) {
            return Err(wrong("aheadBytesMax"));
        }
        let attempts_max = whole(self.attempts_max, u32::MAX, "attemptsMax")?;
        if attempts_max == 0 {
            return Err(wrong("attemptsMax"));
        }
        let source = SourceOptions {
            connect_ms: ms(self.connect_ms, "connectMs")?,
            silence_ms: ms(self.silence_ms, "silenceMs")?,
            redirects_max: whole(self.redirects_max, u32::MAX - 1, "redirectsMax")?,
            attempts_max,
            worthwhile_bytes: some(self.worthwhile_bytes, "worthwhileBytes")?,
            backoff_initial_ms: ms(self.backoff_initial_ms, "backoffInitialMs")?,
            backoff_max_ms: ms(self.backoff_max_ms, "backoffMaxMs")?,
            ahead_bytes_max,
            ca_certificate_pem: self.ca_certificate_pem.clone(),
        };
        let limits = ArchiveLimits {
            storage_bytes_max: some(self.storage_bytes_max, "storageBytesMax")?,
            members_max: some(self.members_max, "membersMax")?,
            unpacked_bytes_max: some(self.unpacked_bytes_max, "unpackedBytesMax")?,
            ..ArchiveLimits::default()
        };
        Ok((source, limits))
    }
}

//! A moving view over a stream, so that parsers read bytes in place.

use std::io::{ErrorKind, Read};

use sys::error::{Error, Result};

/// Read-ahead size: large enough to avoid a read per account.
const STEP_BYTES: usize = 1 << 20;

/// The next bytes of `source`. Grows to the size that [`Window::need`] requests, and never shrinks.
pub(super) struct Window<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    passed: u64,
}

impl<R: Read> Window<R> {
    pub fn new(source: R) -> Self {
        Window {
            source,
            buffer: vec![0; STEP_BYTES],
            start: 0,
            end: 0,
            passed: 0,
        }
    }

    /// Bytes consumed so far.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// The bytes in view, at least those of the last `need`.
    pub fn view(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Brings `bytes` bytes into view; false if the stream ends before.
    pub fn need(&mut self, bytes: usize) -> Result<bool> {
        while self.end - self.start < bytes {
            if self.buffer.len() - self.start < bytes {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
                if self.buffer.len() < bytes {
                    self.buffer.resize(bytes.next_multiple_of(STEP_BYTES), 0);
                }
            }
            let Some(free) = self.buffer.get_mut(self.end..) else {
                return Ok(false);
            };
            match self.source.read(free) {
                Ok(0) => return Ok(false),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(of_io(error)),
            }
        }
        Ok(true)
    }

    /// Consumes bytes that are in view.
    pub fn pass(&mut self, bytes: usize) {
        let bytes = bytes.min(self.end - self.start);
        self.start += bytes;
        self.passed += bytes as u64;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Consumes bytes that need not be in view. Fails if the stream ends before.
    pub fn skip(&mut self, mut bytes: u64) -> Result<()> {
        while bytes > 0 {
            if !self.need(1)? {
                return Err(ends_early());
            }
            let step = (self.view().len() as u64).min(bytes);
            self.pass(step as usize);
            bytes -= step;
        }
        Ok(())
    }

    /// Returns the next `bytes` bytes without consuming them, or fails if the stream ends before.
    pub fn take(&mut self, bytes: usize) -> Result<&[u8]> {
        if !self.need(bytes)? {
            return Err(ends_early());
        }
        Ok(self.view().get(..bytes).unwrap_or_default())
    }
}

pub(super) fn ends_early() -> Error {
    Error::SnapshotInvalid("the archive ends early".into())
}

/// Converts an error of an inner reader: a wrapped [`Error`], a system error, or a decompression
/// error.
fn of_io(error: std::io::Error) -> Error {
    if error.raw_os_error().is_some() {
        return Error::Internal(format!("reading the snapshot: {error}"));
    }
    match error.downcast::<Error>() {
        Ok(own) => own,
        Err(other) if other.kind() == ErrorKind::UnexpectedEof => ends_early(),
        Err(other) => Error::SnapshotInvalid(format!("the archive does not decompress: {other}")),
    }
}

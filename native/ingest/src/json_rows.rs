//! Extracts the rows from a JSON-RPC answer as it arrives, so that memory is bounded by one row.
//! The rest of the answer is kept as an envelope, in which the rows are `[]`.
//!
//! This scanner parses only strings, brackets and the keys on the path to the rows. A full JSON
//! parser then reads each row and the envelope, and rejects invalid JSON.

use memchr::memchr2;

use sys::error::{Error, Result};

/// Deeper than any answer, and the depth limit of the JSON parser.
const DEPTH_MAX: usize = 127;
/// Longer keys do not lead to rows.
const KEY_BYTES_MAX: usize = 16;

/// Size bounds of one answer.
#[derive(Debug, Clone, Copy)]
pub struct JsonLimits {
    pub row_bytes_max: usize,
    pub envelope_bytes_max: usize,
}

/// A part of an answer, in order of arrival.
pub enum Part<'a> {
    /// The rows begin. Holds the envelope before them.
    Begin(&'a [u8]),
    /// One row's JSON text.
    Row(&'a [u8]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Before,
    /// Between the brackets of the rows, at this depth. `is_row_expected` is set after a comma.
    Within {
        depth: usize,
        is_row_expected: bool,
    },
    After,
}

/// A key on the path to the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Result,
    Value,
    Accounts,
    Other,
}

/// The scanner of one answer.
pub struct JsonRows {
    limits: JsonLimits,
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    position: Position,
    /// The newest string outside the rows, cut at one byte over [`KEY_BYTES_MAX`].
    string: Vec<u8>,
    /// Current keys of the objects at depths 1, 2 and 3.
    keys: [Key; 3],
    envelope: Vec<u8>,
    row: Vec<u8>,
}

impl JsonRows {
    pub fn new(limits: JsonLimits) -> JsonRows {
        JsonRows {
            limits,
            depth: 0,
            is_in_string: false,
            is_escaped: false,
            position: Position::Before,
            string: Vec::new(),
            keys: [Key::Other; 3],
            envelope: Vec::new(),
            row: Vec::new(),
        }
    }

    /// Feeds the next bytes. An error of `visit` ends the reading.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        visit: &mut impl FnMut(Part<'_>) -> Result<()>,
    ) -> Result<()> {
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.is_in_string {
                bytes = self.take_string(bytes)?;
                continue;
            }
            bytes = rest;
            self.take(byte, visit)?;
        }
        Ok(())
    }

    /// Returns the envelope after the whole answer was fed.
    pub fn end(self) -> Result<Vec<u8>> {
        if self.depth != 0 || self.is_in_string || self.envelope.is_empty() {
            return Err(wrong("is cut off"));
        }
        Ok(self.envelope)
    }

    /// The current envelope with every bracket closed, for the begin of rows.
    fn closed(&self) -> Vec<u8> {
        let mut closed = self.envelope.clone();
        closed.push(b']');
        closed.extend(std::iter::repeat_n(b'}', self.depth.saturating_sub(1)));
        closed
    }

    fn take_string<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8]> {
        if self.is_escaped {
            self.is_escaped = false;
            let (one, rest) = bytes.split_at(1);
            self.keep(one)?;
            return Ok(rest);
        }
        let end = memchr2(b'"', b'\\', bytes);
        let (run, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
        self.keep(run)?;
        let text = run.get(..end.unwrap_or(run.len())).unwrap_or_default();
        if self.string.len() <= KEY_BYTES_MAX {
            let room = KEY_BYTES_MAX + 1 - self.string.len();
            self.string.extend(text.iter().take(room));
        }
        match run.last() {
            Some(b'\\') if end.is_some() => self.is_escaped = true,
            Some(b'"') if end.is_some() => self.is_in_string = false,
            _ => {}
        }
        Ok(rest)
    }

    fn take(&mut self, byte: u8, visit: &mut impl FnMut(Part<'_>) -> Result<()>) -> Result<()> {
        if let Position::Within {
            depth,
            is_row_expected,
        } = self.position
            && depth == self.depth
        {
            match byte {
                b',' => return self.finish_row(true, visit),
                b']' => {
                    if is_row_expected || !self.row.is_empty() {
                        self.finish_row(false, visit)?;
                    }
                    self.position = Position::After;
                }
                b' ' | b'\t' | b'\n' | b'\r' if self.row.is_empty() => return Ok(()),
                _ => {}
            }
        }
        match byte {
            b'"' => {
                self.is_in_string = true;
                self.string.clear();
            }
            b'{' | b'[' => return self.open(byte, visit),
            b'}' | b']' => {
                self.depth = self
                    .depth
                    .checked_sub(1)
                    .ok_or_else(|| wrong("is no JSON"))?;
            }
            b':' => {
                let key = key_of(&self.string);
                if let Some(at) = self
                    .depth
                    .checked_sub(1)
                    .and_then(|at| self.keys.get_mut(at))
                {
                    *at = key;
                }
            }
            _ => {}
        }
        self.keep(&[byte])
    }

    fn open(&mut self, byte: u8, visit: &mut impl FnMut(Part<'_>) -> Result<()>) -> Result<()> {
        let is_rows = byte == b'[' && self.leads_to_rows();
        if is_rows && self.position == Position::After {
            return Err(wrong("holds two lists of accounts"));
        }
        self.keep(&[byte])?;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(wrong("is nested too deeply"));
        }
        if byte == b'{'
            && let Some(at) = self
                .depth
                .checked_sub(1)
                .and_then(|at| self.keys.get_mut(at))
        {
            *at = Key::Other;
        }
        if is_rows && self.position == Position::Before {
            visit(Part::Begin(&self.closed()))?;
            self.position = Position::Within {
                depth: self.depth,
                is_row_expected: false,
            };
        }
        Ok(())
    }

    fn leads_to_rows(&self) -> bool {
        match (self.depth, self.keys) {
            (1, [Key::Result, ..])
            | (2, [Key::Result, Key::Value | Key::Accounts, _])
            | (3, [Key::Result, Key::Value, Key::Accounts]) => {
                !matches!(self.position, Position::Within { .. })
            }
            _ => false,
        }
    }

    fn finish_row(
        &mut self,
        is_row_expected: bool,
        visit: &mut impl FnMut(Part<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.row.is_empty() {
            return Err(wrong("is no JSON"));
        }
        visit(Part::Row(&self.row))?;
        self.row.clear();
        self.position = Position::Within {
            depth: self.depth,
            is_row_expected,
        };
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        let (into, bytes_max, name) = match self.position {
            Position::Within { .. } => (&mut self.row, self.limits.row_bytes_max, "one account"),
            _ => (
                &mut self.envelope,
                self.limits.envelope_bytes_max,
                "what surrounds the accounts",
            ),
        };
        if into.len() + bytes.len() > bytes_max {
            return Err(wrong(&format!("has over {bytes_max} bytes for {name}")));
        }
        into.extend_from_slice(bytes);
        Ok(())
    }
}

fn key_of(string: &[u8]) -> Key {
    match string {
        b"result" => Key::Result,
        b"value" => Key::Value,
        b"accounts" => Key::Accounts,
        _ => Key::Other,
    }
}

/// The error for an invalid answer.
pub(super) fn wrong(reason: &str) -> Error {
    Error::Internal(format!("the answer {reason}"))
}

#[cfg(test)]
mod tests;

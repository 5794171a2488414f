//! A parser for the subset of JSON in canonical requests. Input that is invalid, or that needs more
//! than one pass over its bytes, is `None`: the general path parses it.

use memchr::memchr;

/// Bytes that are part of a string and stand for themselves. A table, because one load for each
/// byte is a third of the instructions of comparisons.
const IS_PLAIN: [bool; 256] = {
    let mut is_plain = [false; 256];
    let mut byte = 0x20;
    while byte < 0x80 {
        is_plain[byte] = byte != b'"' as usize && byte != b'\\' as usize;
        byte += 1;
    }
    is_plain
};

/// A position in the body. Each method advances past what it reads, or returns `None`.
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Cursor { rest: text }
    }

    /// The unread part.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next byte that is not white space.
    pub fn peek(&mut self) -> Option<u8> {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    /// Reads the given byte, after white space.
    pub fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.rest = &self.rest[1..])
    }

    /// Whether only white space is left.
    pub fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Between two items: true after a comma, false after `close`, which ends the list.
    pub fn has_more(&mut self, close: u8) -> Option<bool> {
        let byte = self.peek()?;
        (byte == b',' || byte == close).then(|| {
            self.rest = &self.rest[1..];
            byte == b','
        })
    }

    /// Opens a list and returns whether it has an item. Reads an empty list to its end.
    pub fn open(&mut self, open: u8, close: u8) -> Option<bool> {
        self.eat(open)?;
        Some(self.peek()? != close || self.eat(close).is_none())
    }

    /// The content of a string of ASCII without escapes.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        self.eat(b'"')?;
        let text = self.rest;
        let end = text.iter().position(|byte| !IS_PLAIN[usize::from(*byte)])?;
        let (text, rest) = text.split_at(end);
        self.rest = rest.strip_prefix(b"\"")?;
        Some(text)
    }

    /// The content of a string up to the next quote. The caller must reject escapes and control
    /// characters.
    pub fn quoted(&mut self) -> Option<&'a [u8]> {
        self.eat(b'"')?;
        let (text, rest) = self.rest.split_at(memchr(b'"', self.rest)?);
        self.rest = &rest[1..];
        Some(text)
    }

    /// A member's name and its colon.
    pub fn name(&mut self) -> Option<&'a [u8]> {
        let name = self.string()?;
        self.eat(b':')?;
        Some(name)
    }

    /// Reads `null`.
    pub fn null(&mut self) -> Option<()> {
        self.peek()?;
        self.rest = self.rest.strip_prefix(b"null")?;
        Some(())
    }

    /// The text of a number. Negative zero is `None`: the general path reads it.
    pub fn number(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let start = self.rest;
        if let [b'-', rest @ ..] = self.rest {
            self.rest = rest;
            if rest.first() == Some(&b'0') {
                return None;
            }
        }
        match self.rest.first()? {
            b'0' => self.rest = &self.rest[1..],
            _ => self.digits()?,
        }
        if let [b'.', rest @ ..] = self.rest {
            self.rest = rest;
            self.digits()?;
        }
        if let [b'e' | b'E', rest @ ..] = self.rest {
            self.rest = match rest {
                [b'+' | b'-', rest @ ..] => rest,
                _ => rest,
            };
            self.digits()?;
        }
        start.get(..start.len() - self.rest.len())
    }

    /// One or more digits.
    fn digits(&mut self) -> Option<()> {
        let count = self
            .rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        self.rest = &self.rest[count..];
        (count > 0).then_some(())
    }
}

//! Packs a message.

use super::scan::Scanner;
use primitives::Pubkey;
use primitives::encoding::{decode_pubkey, decode_pubkey_bytes};
use sys::error::Error;

/// Bounds of a message.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Calls of a batch.
    pub calls_max: usize,
    /// Arrays and objects inside each other.
    pub nesting_max: usize,
    /// Bytes of the text that is left.
    pub text_bytes_max: usize,
}

/// Why a message is refused as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The text is not JSON, or nested too deeply.
    ParseError,
    /// More calls than a batch may have.
    BatchTooLong,
    /// What is left beside the addresses is too long.
    MessageTooLong,
}

/// The addresses of one list: their keys, or the error of the first invalid one.
pub type AddressList = Result<Vec<Pubkey>, Error>;

/// A message without its lists of addresses.
#[derive(Debug)]
pub struct Packed {
    /// The message. In place of each list of strings that is the first parameter of a call, or one
    /// of `NAMED` in a map that is, is an array with one text, `#` and the index in `lists`. A list
    /// that has another element keeps the first such element alone.
    pub text: Vec<u8>,
    pub lists: Vec<AddressList>,
    /// Where each element of a batch is in the original message.
    pub elements: Vec<(usize, usize)>,
}

/// The lists of addresses in a filter of transactions, in the form of Helius and in that of richat.
const NAMED: [&str; 6] = [
    "accountInclude",
    "accountExclude",
    "accountRequired",
    "include",
    "exclude",
    "required",
];

/// Takes the lists of addresses out of a message. Linear in its length, and allocates no more than
/// the keys and `text_bytes_max`.
pub fn pack(body: &[u8], limits: &Limits) -> Result<Packed, Refusal> {
    if std::str::from_utf8(body).is_err() {
        return Err(Refusal::ParseError);
    }
    let mut packer = Packer {
        scanner: Scanner::new(body),
        limits,
        copied: 0,
        packed: Packed {
            text: Vec::new(),
            lists: Vec::new(),
            elements: Vec::new(),
        },
    };
    packer.message()?;
    packer.copy_until(body.len())?;
    Ok(packer.packed)
}

struct Packer<'a, 'l> {
    scanner: Scanner<'a>,
    limits: &'l Limits,
    /// The message up to here is in the text.
    copied: usize,
    packed: Packed,
}

impl<'a> Packer<'a, '_> {
    fn message(&mut self) -> Result<(), Refusal> {
        if !self.scanner.eat(b'[') {
            self.call(0)?;
        } else if !self.scanner.eat(b']') {
            loop {
                self.element()?;
                if !self.scanner.eat(b',') {
                    break;
                }
            }
            self.expect(b']')?;
        }
        match self.scanner.peek() {
            None => Ok(()),
            Some(_) => Err(Refusal::ParseError),
        }
    }

    fn element(&mut self) -> Result<(), Refusal> {
        if self.packed.elements.len() >= self.limits.calls_max {
            return Err(Refusal::BatchTooLong);
        }
        self.scanner.peek();
        let start = self.scanner.at;
        self.call(1)?;
        self.packed.elements.push((start, self.scanner.at));
        Ok(())
    }

    /// One call, or another value in its place.
    fn call(&mut self, depth: usize) -> Result<(), Refusal> {
        if !self.scanner.eat(b'{') {
            return self.skip_value(depth);
        }
        if self.scanner.eat(b'}') {
            return Ok(());
        }
        loop {
            self.name()?;
            if self.scanner.eat(b'[') {
                self.params(depth + 2)?;
            } else {
                self.members(depth + 1)?;
            }
            if !self.scanner.eat(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// The name of a member, in its quotes, and the colon.
    fn name(&mut self) -> Result<&'a [u8], Refusal> {
        let is_name = self.scanner.peek() == Some(b'"');
        let name = is_name.then(|| self.scanner.string()).flatten();
        let name = name.ok_or(Refusal::ParseError)?;
        self.expect(b':')?;
        Ok(name)
    }

    /// A value at this depth. In a map, and the maps in it, may be lists of addresses.
    fn members(&mut self, depth: usize) -> Result<(), Refusal> {
        if self.scanner.peek() != Some(b'{') {
            return self.skip_value(depth);
        }
        if depth >= self.limits.nesting_max {
            return Err(Refusal::ParseError);
        }
        self.expect(b'{')?;
        if self.scanner.eat(b'}') {
            return Ok(());
        }
        loop {
            let is_list = is_named(self.name()?);
            if is_list && self.scanner.peek() == Some(b'[') {
                self.list(depth + 1)?;
            } else {
                self.members(depth + 1)?;
            }
            if !self.scanner.eat(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// An array behind its bracket. Its first element may be a list of addresses, or have some.
    fn params(&mut self, depth: usize) -> Result<(), Refusal> {
        if self.scanner.eat(b']') {
            return Ok(());
        }
        if self.scanner.peek() == Some(b'[') {
            self.list(depth)?;
        } else {
            self.members(depth)?;
        }
        while self.scanner.eat(b',') {
            self.skip_value(depth)?;
        }
        self.expect(b']')
    }

    fn list(&mut self, depth: usize) -> Result<(), Refusal> {
        let start = self.scanner.at;
        self.expect(b'[')?;
        let mut list: AddressList = Ok(Vec::new());
        let mut other: Option<(usize, usize)> = None;
        if !self.scanner.eat(b']') {
            loop {
                if self.scanner.peek() == Some(b'"') {
                    let text = self.scanner.string().ok_or(Refusal::ParseError)?;
                    push(&mut list, text)?;
                } else {
                    let start = self.scanner.at;
                    self.skip_value(depth + 1)?;
                    other.get_or_insert((start, self.scanner.at));
                }
                if !self.scanner.eat(b',') {
                    break;
                }
            }
            self.expect(b']')?;
        }
        self.copy_until(start)?;
        self.copied = self.scanner.at;
        if let Some((start, end)) = other {
            self.push(b"[")?;
            let element = self.scanner.slice(start, end);
            self.push(element)?;
            return self.push(b"]");
        }
        let marker = format!("[\"#{}\"]", self.packed.lists.len());
        self.packed.lists.push(list);
        self.push(marker.as_bytes())
    }

    fn skip_value(&mut self, depth: usize) -> Result<(), Refusal> {
        let depth_max = self.limits.nesting_max.saturating_sub(depth);
        let skipped = self.scanner.skip_value(depth_max);
        skipped.ok_or(Refusal::ParseError)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Refusal> {
        let is_next = self.scanner.eat(byte);
        is_next.then_some(()).ok_or(Refusal::ParseError)
    }

    fn copy_until(&mut self, end: usize) -> Result<(), Refusal> {
        let text = self.scanner.slice(self.copied, end);
        self.push(text)?;
        self.copied = end;
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let text = &mut self.packed.text;
        if text.len() + bytes.len() > self.limits.text_bytes_max {
            return Err(Refusal::MessageTooLong);
        }
        text.extend_from_slice(bytes);
        Ok(())
    }
}

/// Whether a name, given with its quotes, is one of `NAMED`.
fn is_named(quoted: &[u8]) -> bool {
    let content = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    if !content.contains(&b'\\') {
        return NAMED.iter().any(|name| name.as_bytes() == content);
    }
    let name = serde_json::from_slice::<String>(quoted);
    name.is_ok_and(|name| NAMED.contains(&name.as_str()))
}

/// Adds the address of a string, given with its quotes.
fn push(list: &mut AddressList, quoted: &[u8]) -> Result<(), Refusal> {
    let Ok(keys) = list else {
        return Ok(());
    };
    let content = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    match decode_pubkey_bytes(content) {
        Some(key) => keys.push(key),
        None => {
            let text: String = serde_json::from_slice(quoted).map_err(|_| Refusal::ParseError)?;
            match decode_pubkey(&text) {
                Ok(key) => keys.push(key),
                Err(error) => *list = Err(error),
            }
        }
    }
    Ok(())
}

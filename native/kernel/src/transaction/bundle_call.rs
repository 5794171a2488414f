//! The call `sendBundle` as nearly every client writes it, read without making anything of its
//! JSON.

use std::ops::Range;

/// Digits of an id that is a number: none of them is lost in a double.
const ID_DIGITS_MAX: usize = 15;
/// Characters of an id that is a text.
const ID_CHARS_MAX: usize = 128;

/// What one route takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleForm {
    pub transactions_max: usize,
    /// The second parameter has these members and no other, each with this value, as JSON has it.
    pub options: Vec<(String, String)>,
}

/// A call that is nothing but a whole and right one, its transactions unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleCall<'a> {
    /// As it came: a number or a text in quotes.
    pub id: &'a [u8],
    /// What stands between the quotes. It may be no base64; then it may also be no JSON text.
    pub transactions: Vec<&'a [u8]>,
    /// Where all of them stand, from the first quote to the last, with nothing but commas between
    /// them.
    pub list: Range<usize>,
}

/// Reads a body that is a JSON-RPC 2.0 call of `sendBundle` with an id, the transactions and the
/// options of a route, each member once, in any order, and no escape in any text. `None` says
/// nothing: the call may be right all the same.
pub fn read_bundle_call<'a>(body: &'a [u8], form: &BundleForm) -> Option<BundleCall<'a>> {
    let mut reader = Reader { body, at: 0 };
    let mut seen = [false; 4];
    let mut id = None;
    let mut params = None;
    reader.object(|reader, name| {
        let index = match name {
            b"jsonrpc" => {
                reader.literal(br#""2.0""#)?;
                0
            }
            b"method" => {
                reader.literal(br#""sendBundle""#)?;
                1
            }
            b"id" => {
                id = Some(reader.id()?);
                2
            }
            b"params" => {
                params = Some(reader.params(form)?);
                3
            }
            _ => return None,
        };
        once(seen.get_mut(index)?)
    })?;
    reader.space();
    if reader.at != body.len() || seen.contains(&false) {
        return None;
    }
    let (transactions, list) = params?;
    Some(BundleCall {
        id: id?,
        transactions,
        list,
    })
}

/// False becomes true; `None` where it was.
fn once(seen: &mut bool) -> Option<()> {
    (!std::mem::replace(seen, true)).then_some(())
}

struct Reader<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        self.body.get(self.at..).unwrap_or_default()
    }

    /// White space, as JSON has it.
    fn space(&mut self) {
        let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.rest().iter().take_while(is_space).count();
    }

    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.rest().starts_with(text).then(|| self.at += text.len())
    }

    /// The same, with white space before and behind it.
    fn mark(&mut self, mark: u8) -> Option<()> {
        self.space();
        self.literal(&[mark])?;
        self.space();
        Some(())
    }

    /// What stands up to the next quote, the first of which is here.
    fn quoted(&mut self) -> Option<&'a [u8]> {
        self.literal(b"\"")?;
        let length = memchr::memchr(b'"', self.rest())?;
        let text = self.rest().get(..length)?;
        self.at += length + 1;
        Some(text)
    }

    /// An object, of which `member` reads each value.
    fn object(
        &mut self,
        mut member: impl FnMut(&mut Reader<'a>, &'a [u8]) -> Option<()>,
    ) -> Option<()> {
        self.mark(b'{')?;
        loop {
            let name = self.quoted()?;
            self.mark(b':')?;
            member(self, name)?;
            self.space();
            if self.literal(b"}").is_some() {
                return Some(());
            }
            self.mark(b',')?;
        }
    }

    fn id(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        if self.rest().first() == Some(&b'"') {
            let text = self.quoted()?;
            let is_plain = |byte: &u8| matches!(byte, 0x20..=0x7e) && *byte != b'\\';
            if text.len() > ID_CHARS_MAX || !text.iter().all(is_plain) {
                return None;
            }
        } else {
            let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit());
            let count = digits.count();
            let leads_zero = count > 1 && self.rest().first() == Some(&b'0');
            if count == 0 || count > ID_DIGITS_MAX || leads_zero {
                return None;
            }
            self.at += count;
        }
        self.body.get(start..self.at)
    }

    fn params(&mut self, form: &BundleForm) -> Option<(Vec<&'a [u8]>, Range<usize>)> {
        self.mark(b'[')?;
        self.literal(b"[")?;
        let start = self.at;
        let mut transactions = Vec::with_capacity(form.transactions_max);
        loop {
            if transactions.len() == form.transactions_max {
                return None;
            }
            transactions.push(self.quoted()?);
            if self.literal(b",").is_none() {
                break;
            }
        }
        let list = start..self.at;
        self.literal(b"]")?;
        self.mark(b',')?;
        let mut seen = vec![false; form.options.len()];
        self.object(|reader, name| {
            let is_named = |(option, _): &(String, String)| option.as_bytes() == name;
            let index = form.options.iter().position(is_named)?;
            let (_, value) = form.options.get(index)?;
            reader.literal(value.as_bytes())?;
            once(seen.get_mut(index)?)
        })?;
        if seen.contains(&false) {
            return None;
        }
        self.space();
        self.literal(b"]")?;
        Some((transactions, list))
    }
}

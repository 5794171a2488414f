//! Finds the `error` of a JSON-RPC answer, in one pass and without parsing the rest.

use memchr::memchr2;

/// Bytes of the longest name that is compared: `message`, each letter as `\u006d`.
const NAME_BYTES_MAX: usize = 42;
/// Bytes of the longest `code` that is read.
const CODE_BYTES_MAX: usize = 32;

/// The error of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// Its `code`, where that is a number.
    pub code: Option<f64>,
    /// Where its `message` is, without the quotes and as it is escaped, where that is a string.
    pub message: Option<(usize, usize)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Member {
    Other,
    Error,
    Code,
    Message,
}

/// What a string is that has begun.
#[derive(Clone, Copy, PartialEq)]
enum Text {
    Name,
    /// It began here.
    Message(usize),
    Other,
}

/// Scans an answer, in as many pieces as the caller likes. Of repeated members the last one counts,
/// as in `JSON.parse`; of what is not JSON the result means nothing.
#[derive(Default)]
pub struct ErrorScan {
    /// Bytes that were scanned.
    offset: usize,
    depth: usize,
    is_object: bool,
    is_in_error: bool,
    /// The next string is the name of a member.
    is_name: bool,
    /// The member whose value comes next.
    member: Option<Member>,
    text: Option<Text>,
    is_escaped: bool,
    name: Vec<u8>,
    code: Option<Vec<u8>>,
    found: Option<Found>,
}

impl ErrorScan {
    #[must_use]
    pub fn new() -> Self {
        ErrorScan::default()
    }

    /// Scans the next bytes of the answer.
    pub fn feed(&mut self, piece: &[u8]) {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            let rest = piece.get(at..).unwrap_or_default();
            at += match self.text {
                Some(text) => self.in_text(text, rest, self.offset + at),
                None => self.outside(byte, self.offset + at),
            };
        }
        self.offset += piece.len();
    }

    /// The error of what was scanned; `None` where there is none.
    #[must_use]
    pub fn found(&self) -> Option<Found> {
        self.found
    }

    /// Whether the members of the object around the next byte count.
    fn is_read(&self) -> bool {
        match self.depth {
            1 => self.is_object,
            2 => self.is_in_error,
            _ => false,
        }
    }

    fn in_text(&mut self, text: Text, rest: &[u8], offset: usize) -> usize {
        if self.is_escaped {
            self.is_escaped = false;
            self.keep_name(rest.get(..1).unwrap_or_default());
            return 1;
        }
        let Some(end) = memchr2(b'"', b'\\', rest) else {
            self.keep_name(rest);
            return rest.len();
        };
        if rest.get(end) == Some(&b'\\') {
            self.is_escaped = true;
            self.keep_name(rest.get(..=end).unwrap_or_default());
        } else {
            self.keep_name(rest.get(..end).unwrap_or_default());
            self.text = None;
            match (text, &mut self.found) {
                (Text::Name, _) => self.end_name(),
                (Text::Message(start), Some(found)) => found.message = Some((start, offset + end)),
                _ => {}
            }
        }
        end + 1
    }

    /// Keeps the beginning of a name.
    fn keep_name(&mut self, bytes: &[u8]) {
        if self.text == Some(Text::Name) {
            let left = NAME_BYTES_MAX + 1 - self.name.len();
            self.name
                .extend_from_slice(bytes.get(..left).unwrap_or(bytes));
        }
    }

    fn end_name(&mut self) {
        self.is_name = false;
        let member = match (self.depth, unescape(&self.name).as_deref()) {
            (1, Some("error")) => Member::Error,
            (2, Some("code")) => Member::Code,
            (2, Some("message")) => Member::Message,
            _ => Member::Other,
        };
        match (member, &mut self.found) {
            (Member::Error, found) => *found = None,
            (Member::Code, Some(found)) => found.code = None,
            (Member::Message, Some(found)) => found.message = None,
            _ => {}
        }
        self.member = Some(member);
    }

    fn outside(&mut self, byte: u8, offset: usize) -> usize {
        match byte {
            b'"' => self.begin_text(offset),
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
                self.is_in_error &= self.depth > 1;
                self.is_name = false;
            }
            b',' => {
                self.end_value();
                self.is_name = self.is_read();
            }
            b' ' | b'\t' | b'\n' | b'\r' | b':' => {}
            _ => self.scalar(byte),
        }
        1
    }

    fn begin_text(&mut self, offset: usize) {
        let is_read = self.is_read();
        let member = self.member.take().filter(|_| is_read);
        self.text = Some(match member {
            None if is_read && self.is_name => {
                self.name.clear();
                Text::Name
            }
            Some(Member::Message) => Text::Message(offset + 1),
            _ => Text::Other,
        });
        if member == Some(Member::Error) {
            self.found = Some(Found::default());
        }
    }

    fn open(&mut self, byte: u8) {
        let is_error = self.is_read() && self.member.take() == Some(Member::Error);
        self.depth += 1;
        if self.depth == 1 {
            self.is_object = byte == b'{';
        }
        if is_error {
            self.found = Some(Found::default());
            self.is_in_error = byte == b'{';
        }
        self.is_name = byte == b'{' && self.is_read();
    }

    fn scalar(&mut self, byte: u8) {
        if let Some(code) = &mut self.code {
            if code.len() < CODE_BYTES_MAX {
                code.push(byte);
            }
            return;
        }
        if !self.is_read() {
            return;
        }
        match self.member.take() {
            // `null` is no error.
            Some(Member::Error) if byte != b'n' => self.found = Some(Found::default()),
            Some(Member::Code) => self.code = Some(vec![byte]),
            _ => {}
        }
    }

    fn end_value(&mut self) {
        self.member = None;
        let code = self.code.take();
        let text = code.as_deref().and_then(|code| str::from_utf8(code).ok());
        if let (Some(found), Some(number)) = (&mut self.found, text) {
            found.code = number.parse().ok().filter(|code: &f64| code.is_finite());
        }
    }
}

fn unescape(name: &[u8]) -> Option<String> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let quoted = [b"\"", name, b"\""].concat();
    serde_json::from_slice(&quoted).ok()
}

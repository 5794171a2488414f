//! Positions in JSON text. The text need not be valid: what is not a list of addresses is copied as
//! it came, and parsed later.

/// A position in the message. Each method returns `None` where the text is not JSON.
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    pub at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Scanner { text, at: 0 }
    }

    /// The next byte that is not white space.
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Reads the given byte, after white space; false where another one is next.
    pub fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// The text between two positions.
    pub fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Reads a string and returns its text with the quotes.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        let mut at = start + 1;
        loop {
            match self.text.get(at)? {
                b'"' => break,
                b'\\' => at += 2,
                0..0x20 => return None,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        Some(self.slice(start, self.at))
    }

    /// Skips one value of at most `depth_max` levels. Only its strings and brackets are read.
    pub fn skip_value(&mut self, depth_max: usize) -> Option<()> {
        let mut depth = 0;
        loop {
            match self.peek()? {
                b'"' => drop(self.string()?),
                b'[' | b'{' => {
                    depth += 1;
                    self.at += 1;
                    if depth > depth_max {
                        return None;
                    }
                    continue;
                }
                b']' | b'}' if depth == 0 => return None,
                b']' | b'}' => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' | b':' if depth == 0 => return None,
                b',' | b':' => {
                    self.at += 1;
                    continue;
                }
                _ => self.skip_scalar(),
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn skip_scalar(&mut self) {
        let is_inside = |byte: &u8| !matches!(byte, b'[' | b']' | b'{' | b'}' | b',' | b':' | b'"');
        while self.text.get(self.at).is_some_and(is_inside) {
            self.at += 1;
        }
    }
}

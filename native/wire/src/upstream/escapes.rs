//! Escapes of single characters: backslashes as in JSON and programming languages, percent signs
//! and HTML entities, also within each other.

/// Digits of the longest numeric entity that is read: leading zeros have no end.
const ENTITY_DIGITS_MAX: usize = 8;
/// Letters of the longest name in `ENTITIES`.
const ENTITY_LETTERS_MAX: usize = 8;
/// Escaped backslashes before one character. Plain ones have no bound: they form one run.
const ESCAPED_BACKSLASHES_MAX: usize = 8;

/// Entities of the visible characters that are no letters and no digits (HTML 13.5).
const ENTITIES: [(&[u8], u8); 43] = [
    (b"excl", b'!'),
    (b"quot", b'"'),
    (b"QUOT", b'"'),
    (b"num", b'#'),
    (b"dollar", b'$'),
    (b"percnt", b'%'),
    (b"amp", b'&'),
    (b"AMP", b'&'),
    (b"apos", b'\''),
    (b"lpar", b'('),
    (b"rpar", b')'),
    (b"ast", b'*'),
    (b"midast", b'*'),
    (b"plus", b'+'),
    (b"comma", b','),
    (b"hyphen", b'-'),
    (b"dash", b'-'),
    (b"period", b'.'),
    (b"sol", b'/'),
    (b"colon", b':'),
    (b"semi", b';'),
    (b"lt", b'<'),
    (b"LT", b'<'),
    (b"equals", b'='),
    (b"gt", b'>'),
    (b"GT", b'>'),
    (b"quest", b'?'),
    (b"commat", b'@'),
    (b"lsqb", b'['),
    (b"lbrack", b'['),
    (b"bsol", b'\\'),
    (b"rsqb", b']'),
    (b"rbrack", b']'),
    (b"Hat", b'^'),
    (b"lowbar", b'_'),
    (b"UnderBar", b'_'),
    (b"grave", b'`'),
    (b"lcub", b'{'),
    (b"lbrace", b'{'),
    (b"verbar", b'|'),
    (b"vert", b'|'),
    (b"rcub", b'}'),
    (b"rbrace", b'}'),
];

/// A character and the position behind it.
type Unit = (u8, usize);

/// What the next character may be.
#[derive(Clone, Copy)]
pub struct Unescaped {
    /// As it is, behind any backslashes.
    literal: Unit,
    escape: Option<Unit>,
    /// Behind a percent sign that is escaped itself.
    percent_end: Option<usize>,
}

impl Unescaped {
    /// The position behind the character where it is `wanted`, a small letter if it is a letter.
    pub fn end_of(&self, wanted: u8) -> Option<usize> {
        let is_wanted = |(value, _): &Unit| value.to_ascii_lowercase() == wanted;
        self.escape
            .filter(is_wanted)
            .map(|(_, end)| end)
            .or_else(|| self.percent_end.filter(|_| wanted == b'%'))
            .or_else(|| is_wanted(&self.literal).then_some(self.literal.1))
    }
}

/// True where an escape may begin.
pub fn is_mark(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | b'&')
}

/// Reads one character, which is no backslash; any number of them may be before it.
pub fn read(text: &[u8], mut at: usize) -> Option<Unescaped> {
    let mut is_escaped = false;
    let mut escaped_backslashes = 0;
    loop {
        let byte = *text.get(at)?;
        if byte == b'\\' {
            is_escaped = true;
            at += 1;
            continue;
        }
        let mut percent_end = None;
        let mut escape = match byte {
            b'%' => percent(text, at + 1, &mut percent_end),
            b'&' => entity(text, at + 1),
            b'u' if is_escaped => hex(text, at + 1, 4),
            b'x' if is_escaped => hex(text, at + 1, 2),
            _ => None,
        };
        // An entity whose `&` is escaped itself.
        if let Some((b'&', end)) = escape
            && byte != b'&'
        {
            escape = entity(text, end).or(escape);
        }
        match escape {
            Some((b'\\', end)) if escaped_backslashes < ESCAPED_BACKSLASHES_MAX => {
                escaped_backslashes += 1;
                is_escaped = true;
                at = end;
            }
            _ => {
                return Some(Unescaped {
                    literal: (byte, at + 1),
                    escape,
                    percent_end,
                });
            }
        }
    }
}

fn hex(text: &[u8], at: usize, digits: usize) -> Option<Unit> {
    let mut value = 0_u32;
    for &byte in text.get(at..at + digits)? {
        value = value * 16 + (byte as char).to_digit(16)?;
    }
    Some((u8::try_from(value).ok()?, at + digits))
}

/// Reads what follows `%`: two digits, before which `25` may be as often as it was escaped.
fn percent(text: &[u8], at: usize, percent_end: &mut Option<usize>) -> Option<Unit> {
    let mut unit = hex(text, at, 2)?;
    while unit.0 == b'%' {
        *percent_end = Some(unit.1);
        match hex(text, unit.1, 2) {
            Some(next) => unit = next,
            None => break,
        }
    }
    Some(unit)
}

/// Reads what follows `&`; `amp;` may be before it as often as it was escaped.
fn entity(text: &[u8], at: usize) -> Option<Unit> {
    let mut start = at;
    while text.get(start..)?.starts_with(b"amp;") {
        start += 4;
    }
    let rest = text.get(start..)?;
    if rest.first() == Some(&b'#') {
        let is_hex = matches!(rest.get(1), Some(b'x' | b'X'));
        let (radix, digits_at) = if is_hex { (16, 2) } else { (10, 1) };
        let digits = rest.get(digits_at..)?;
        let count = count_of(digits, ENTITY_DIGITS_MAX, |byte| {
            (byte as char).is_digit(radix)
        });
        let number = str::from_utf8(digits.get(..count)?).ok()?;
        let value = u8::try_from(u32::from_str_radix(number, radix).ok()?).ok()?;
        let end = start + digits_at + count;
        return Some((value, end + usize::from(text.get(end) == Some(&b';'))));
    }
    let count = count_of(rest, ENTITY_LETTERS_MAX, |byte| byte.is_ascii_alphabetic());
    let name = rest.get(..count)?;
    let known = ENTITIES.iter().find(|(known, _)| *known == name);
    match known.filter(|_| rest.get(count) == Some(&b';')) {
        Some((_, value)) => Some((*value, start + count + 1)),
        // `&amp;` alone.
        None => (start > at).then_some((b'&', start)),
    }
}

fn count_of(bytes: &[u8], max: usize, is_counted: impl Fn(u8) -> bool) -> usize {
    bytes
        .iter()
        .take(max)
        .take_while(|byte| is_counted(**byte))
        .count()
}

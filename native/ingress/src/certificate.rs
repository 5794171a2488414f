//! The token in a client's certificate.
//!
//! Whoever connects writes these bytes. They are read once, front to back, without recursion, and a
//! certificate with a length that is not the shortest form, or with more than it should have, is
//! unreadable.

/// A self-signed certificate with one name has about 400 bytes; longer chains are not read.
const CERTIFICATE_BYTES_MAX: usize = 8 * 1024;
/// Longer than any token.
pub const TOKEN_BYTES_MAX: usize = 256;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
const INTEGER: u8 = 0x02;
const BOOLEAN: u8 = 0x01;
const OCTETS: u8 = 0x04;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.999.1.1
const MEV_PROTECT: &[u8] = &[0x88, 0x37, 0x01, 0x01];

/// What a client's certificate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The one common name of its subject.
    pub token: String,
    /// The extension of protection from MEV is there, and is true.
    pub wants_protection: bool,
}

#[cfg(test)]
thread_local! {
    /// Elements that were read, for tests.
    pub static ELEMENTS_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Elements of DER, one after the other.
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// Tag and content of the next one; `None` where it is malformed, or there is none.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        #[cfg(test)]
        ELEMENTS_READ.set(ELEMENTS_READ.get() + 1);
        let (&tag, rest) = self.0.split_first()?;
        // Tags of several bytes are in no certificate.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81 => {
                let (&low, rest) = rest.split_first()?;
                (usize::from(low), rest)
            }
            0x82 => {
                let (bytes, rest) = rest.split_first_chunk::<2>()?;
                (usize::from(u16::from_be_bytes(*bytes)), rest)
            }
            // Indefinite, or longer than a certificate may be.
            _ => return None,
        };
        let is_shortest = match first {
            0x81 => length >= 0x80,
            0x82 => length >= 0x100,
            _ => true,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        is_shortest.then_some((tag, content))
    }

    /// The content of the next one, which must have this tag.
    fn expect(&mut self, wanted: u8) -> Option<&'a [u8]> {
        let (tag, content) = self.next()?;
        (tag == wanted).then_some(content)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reads who a client says that it is; `None` where its certificate cannot be read, or has not
/// exactly one common name.
pub fn identify(der: &[u8]) -> Option<Identity> {
    if der.len() > CERTIFICATE_BYTES_MAX {
        return None;
    }
    let mut whole = Elements(der);
    let mut certificate = Elements(whole.expect(SEQUENCE)?);
    let mut signed = Elements(certificate.expect(SEQUENCE)?);
    signed.expect(VERSION)?;
    signed.expect(INTEGER)?;
    let _algorithm = signed.expect(SEQUENCE)?;
    let _issuer = signed.expect(SEQUENCE)?;
    let _validity = signed.expect(SEQUENCE)?;
    let subject = signed.expect(SEQUENCE)?;
    let _public_key = signed.expect(SEQUENCE)?;
    let mut wants_protection = false;
    while !signed.is_empty() {
        let (tag, content) = signed.next()?;
        if tag == EXTENSIONS {
            wants_protection = read_protection(content)?;
        }
    }
    if !whole.is_empty() {
        return None;
    }
    let token = common_name(subject)?.to_string();
    Some(Identity {
        token,
        wants_protection,
    })
}

/// The one common name: which of several counts, nothing decides.
fn common_name(subject: &[u8]) -> Option<&str> {
    let mut names = Elements(subject);
    let mut found = None;
    while !names.is_empty() {
        let mut attributes = Elements(names.expect(SET)?);
        while !attributes.is_empty() {
            let mut attribute = Elements(attributes.expect(SEQUENCE)?);
            let id = attribute.expect(OBJECT_ID)?;
            let (tag, value) = attribute.next()?;
            if id != COMMON_NAME {
                continue;
            }
            let name = text(tag, value)?;
            if found.replace(name).is_some() {
                return None;
            }
        }
    }
    found
}

fn text(tag: u8, value: &[u8]) -> Option<&str> {
    let is_text = match tag {
        UTF8_STRING => true,
        PRINTABLE_STRING => value.is_ascii(),
        _ => false,
    };
    let is_sized = (1..=TOKEN_BYTES_MAX).contains(&value.len());
    (is_text && is_sized).then(|| std::str::from_utf8(value).ok())?
}

/// Whether the extensions ask for protection. One that is there and neither true nor false makes
/// the certificate unreadable: a client that asks must not be taken for one that does not.
fn read_protection(extensions: &[u8]) -> Option<bool> {
    let mut outer = Elements(extensions);
    let mut list = Elements(outer.expect(SEQUENCE)?);
    let mut found = false;
    while !list.is_empty() {
        let mut extension = Elements(list.expect(SEQUENCE)?);
        let id = extension.expect(OBJECT_ID)?;
        let (mut tag, mut value) = extension.next()?;
        if tag == BOOLEAN {
            (tag, value) = extension.next()?;
        }
        if tag != OCTETS {
            return None;
        }
        if id != MEV_PROTECT {
            continue;
        }
        let mut inner = Elements(value);
        found |= match inner.expect(BOOLEAN)? {
            [0xff] => true,
            [0x00] => false,
            _ => return None,
        };
    }
    Some(found)
}

//! What a body may hold, before anybody has read it as JSON.

use memchr::memmem;

use super::base64::text_length;

/// The texts of the bundle in the body of a request, where it looks like one: a guess, a thousandth of a millisecond
/// instead of ten. Whoever acts on it must find the same texts when the body is read, or forget them.
pub fn foresee_bundle(body: &[u8], count_max: usize, bytes_max: usize) -> Option<Vec<&[u8]>> {
    memmem::find(body, br#""sendBundle""#)?;
    let name = br#""params""#;
    let start = memmem::find(body, name)? + name.len();
    let mut rest = body.get(start..)?;
    for mark in [b':', b'[', b'['] {
        rest = after(rest, mark)?;
    }
    let mut texts = Vec::with_capacity(count_max);
    while texts.len() < count_max {
        rest = after(rest, b'"')?;
        let length =
            memchr::memchr(b'"', rest).filter(|length| *length <= text_length(bytes_max))?;
        let (text, behind) = rest.split_at_checked(length)?;
        texts.push(text);
        let behind = after(behind, b'"')?;
        rest = match after(behind, b',') {
            Some(next) => next,
            None => return after(behind, b']').map(|_| texts),
        };
    }
    None
}

/// What follows a mark and the white space before it.
fn after(text: &[u8], mark: u8) -> Option<&[u8]> {
    let (first, rest) = text.trim_ascii_start().split_first()?;
    (*first == mark).then_some(rest)
}

//! Writes JSON scalars into a byte buffer.

/// Appends a JSON integer, exact over the whole u64.
pub fn push_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends `true` or `false`.
pub fn push_bool(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Appends a JSON number as Agave writes it (`100.0`), or `null` for values that JSON cannot
/// represent.
pub(crate) fn push_f64(out: &mut Vec<u8>, number: f64) {
    if serde_json::to_writer(&mut *out, &number).is_err() {
        out.extend_from_slice(b"null");
    }
}

/// Appends a JSON string with its quotes.
pub fn push_str(out: &mut Vec<u8>, text: &str) {
    if text
        .bytes()
        .all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\')
    {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
    }
}

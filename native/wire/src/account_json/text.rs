//! Writes JSON scalars into a byte buffer.

/// Appends a JSON integer, exact over the whole u64.
pub fn push_u64(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    out.extend_from_slice(decimal_digits(number, &mut digits));
}

/// Writes the decimal digits of a number to the end of the given buffer.
pub(super) fn decimal_digits(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut start = digits.len();
    for (index, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        start = index;
        if number == 0 {
            break;
        }
    }
    digits.get(start..).unwrap_or_default()
}

/// Appends `true` or `false`.
pub fn push_bool(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Appends a JSON number as Agave writes it (`100.0`), or `null` for values that JSON cannot
/// represent.
pub(super) fn push_f64(out: &mut Vec<u8>, number: f64) {
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

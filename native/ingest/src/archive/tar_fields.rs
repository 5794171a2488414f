//! Fields of a tar header.

use sys::error::Error;

pub(super) const BLOCK_BYTES: usize = 512;
pub(super) fn invalid(reason: &str) -> Error {
    Error::SnapshotInvalid(format!("the tar is not sound: {reason}"))
}

pub(super) fn until_zero(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// A number: octal text, or big-endian after a leading 0x80 (GNU's form of large numbers).
pub(super) fn octal(header: &[u8], at: usize, length: usize) -> Option<u64> {
    let field = header.get(at..at + length)?;
    if field.first()? & 0x80 != 0 {
        let (high, low) = field.split_at_checked(length.checked_sub(8)?)?;
        let is_small = high
            .iter()
            .enumerate()
            .all(|(i, b)| *b == if i == 0 { 0x80 } else { 0 });
        return is_small.then(|| low.try_into().ok().map(u64::from_be_bytes))?;
    }
    let digits = until_zero(field).trim_ascii();
    if !digits.iter().all(|byte| (b'0'..=b'7').contains(byte)) {
        return None;
    }
    let step = |sum: u64, digit: &u8| sum.checked_mul(8)?.checked_add(u64::from(digit - b'0'));
    digits.iter().try_fold(0, step)
}

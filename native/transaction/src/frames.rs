//! The body of a batch: up to 16 records. Each is a big-endian length of two bytes, followed by
//! that many bytes.

use std::fmt;
use std::ops::Range;

/// Maximum records of a batch: the lander's limit.
pub const RECORDS_MAX: usize = 16;
/// Limits on the bytes of a record, set by the lander. The minimum is a cheap first check.
pub const RECORD_BYTES_MIN: usize = 66;
pub const RECORD_BYTES_MAX: usize = 1_232;

/// Bytes of the length prefix.
const PREFIX_BYTES: usize = 2;

/// The first error in a body. Records count from 0, offsets from the first byte of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub record: usize,
    pub offset: usize,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    Empty,
    TruncatedLength,
    TruncatedRecord { length: usize, left: usize },
    TooShort { length: usize },
    TooLong { length: usize },
    TooMany,
    Trailing { bytes: usize },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} at offset {}: ", self.record, self.offset)?;
        match self.kind {
            FaultKind::Empty => f.write_str("the body is empty"),
            FaultKind::TruncatedLength => f.write_str("truncated length"),
            FaultKind::TruncatedRecord { length, left } => {
                write!(f, "truncated record: {left} of {length} bytes")
            }
            FaultKind::TooShort { length } => {
                write!(f, "length {length} is below {RECORD_BYTES_MIN}")
            }
            FaultKind::TooLong { length } => {
                write!(f, "length {length} is above {RECORD_BYTES_MAX}")
            }
            FaultKind::TooMany => write!(f, "a batch holds at most {RECORDS_MAX} records"),
            FaultKind::Trailing { bytes: 1 } => f.write_str("1 trailing byte"),
            FaultKind::Trailing { bytes } => write!(f, "{bytes} trailing bytes"),
        }
    }
}

/// Calls `each` with every complete record before the first error, in order, and returns the error.
pub fn frame_batch(body: &[u8], mut each: impl FnMut(Range<usize>)) -> Option<Fault> {
    let mut offset = 0;
    for record in 0.. {
        let rest = body.get(offset..).unwrap_or_default();
        if rest.is_empty() && record > 0 {
            return None;
        }
        match read_record(rest) {
            Ok(length) if record < RECORDS_MAX => {
                let start = offset + PREFIX_BYTES;
                each(start..start + length);
                offset = start + length;
            }
            found => {
                let kind = match found {
                    Ok(_) => FaultKind::TooMany,
                    // No record may follow the last one, so the rest is not a truncated record.
                    Err(_) if record >= RECORDS_MAX => FaultKind::Trailing { bytes: rest.len() },
                    Err(kind) => kind,
                };
                return Some(Fault {
                    record,
                    offset,
                    kind,
                });
            }
        }
    }
    None
}

/// Reads the length of the first record in `rest`.
fn read_record(rest: &[u8]) -> Result<usize, FaultKind> {
    let Some((prefix, after)) = rest.split_first_chunk::<PREFIX_BYTES>() else {
        return Err(if rest.is_empty() {
            FaultKind::Empty
        } else {
            FaultKind::TruncatedLength
        });
    };
    let length = usize::from(u16::from_be_bytes(*prefix));
    if length < RECORD_BYTES_MIN {
        Err(FaultKind::TooShort { length })
    } else if length > RECORD_BYTES_MAX {
        Err(FaultKind::TooLong { length })
    } else if length > after.len() {
        let left = after.len();
        Err(FaultKind::TruncatedRecord { length, left })
    } else {
        Ok(length)
    }
}

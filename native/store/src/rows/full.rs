//! Reads single fields of a transaction in the feed's protobuf, without decoding all of it.
//!
//! Fields of yellowstone-grpc-proto 14: `meta` and `index` of SubscribeUpdateTransactionInfo, and
//! `log_messages` of TransactionStatusMeta. Bytes that are no protobuf end what is read.

const META: u64 = 4;
const LOG_MESSAGES: u64 = 6;
const INDEX: u64 = 5;

/// The meta of a transaction, protobuf of TransactionStatusMeta; empty if it has none.
pub fn meta(mut transaction: &[u8]) -> &[u8] {
    next_of(&mut transaction, META).unwrap_or_default()
}

/// Takes the next log line of a meta, and what is before it.
pub(crate) fn next_line<'a>(meta: &mut &'a [u8]) -> Option<&'a [u8]> {
    next_of(meta, LOG_MESSAGES)
}

/// The position of a transaction in its block.
pub fn transaction_index(mut transaction: &[u8]) -> u64 {
    while let Some(field) = next_field(&mut transaction) {
        if let (INDEX, Value::Number(index)) = field {
            return index;
        }
    }
    0
}

/// Takes the fields up to the next one with this number that has a length.
fn next_of<'a>(bytes: &mut &'a [u8], wanted: u64) -> Option<&'a [u8]> {
    loop {
        match next_field(bytes)? {
            (number, Value::Bytes(value)) if number == wanted => return Some(value),
            _ => {}
        }
    }
}

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

fn next_field<'a>(bytes: &mut &'a [u8]) -> Option<(u64, Value<'a>)> {
    let key = varint(bytes)?;
    let value = match key & 7 {
        0 => Value::Number(varint(bytes)?),
        1 => {
            take(bytes, 8)?;
            Value::Other
        }
        2 => {
            let length = varint(bytes)?;
            Value::Bytes(take(bytes, length)?)
        }
        5 => {
            take(bytes, 4)?;
            Value::Other
        }
        _ => return None,
    };
    Some((key >> 3, value))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_those_of_the_meta_only() {
        // signature (1), is_vote (2), meta (4) with fee (2), lines (6) and a fixed64 (20).
        let meta_bytes = b"\x10\xac\x02\x32\x01a\xa1\x01\0\0\0\0\0\0\0\0\x32\x00\x32\x02bc";
        let mut full_bytes = b"\x0a\x02\x32\x00\x10\x01\x22".to_vec();
        full_bytes.push(meta_bytes.len() as u8);
        full_bytes.extend_from_slice(meta_bytes);
        full_bytes.extend_from_slice(b"\x28\x87\x02\x32\x01z");
        assert_eq!(transaction_index(&full_bytes), 263);
        let mut rest = meta(&full_bytes);
        let lines: Vec<&[u8]> = std::iter::from_fn(|| next_line(&mut rest)).collect();
        assert_eq!(lines, [&b"a"[..], b"", b"bc"]);
        assert_eq!(meta(b"\x0a\x02\x32\x00"), b"");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut rest = meta(&bytes);
            while next_line(&mut rest).is_some() {}
            transaction_index(&bytes);
        }
    }
}

//! Fields of fixed length, and numbers of banks.

use crate::geyser::update::Fault;

pub(super) fn fixed<const N: usize>(
    slot: u64,
    field: &str,
    bytes: &[u8],
) -> Result<[u8; N], Fault> {
    bytes
        .try_into()
        .map_err(|_| malformed(slot, format!("{field} of {} bytes, not {N}", bytes.len())))
}

/// The number of a bank. Some messages have no way to leave it out: 0 is none. The bank with this
/// number is the one that a validator starts from, of which nothing is sent.
pub(super) fn bank_of(number: impl Into<Option<u64>>) -> Option<u64> {
    number.into().filter(|number| *number != 0)
}

pub(super) fn malformed(slot: u64, what: impl Into<String>) -> Fault {
    Fault::Malformed {
        slot,
        what: what.into(),
    }
}

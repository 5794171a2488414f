//! Fields of fixed length.

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

pub(super) fn malformed(slot: u64, what: impl Into<String>) -> Fault {
    Fault::Malformed {
        slot,
        what: what.into(),
    }
}

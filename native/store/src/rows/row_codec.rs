//! Encodes accounts as bytes, to pass rows from other sources across the native boundary.

use crate::options::ACCOUNT_DATA_BYTES_MAX;
use crate::rows::record::AccountRef;
use primitives::Pubkey;
use sys::error::{Error, Result};

/// Bytes of a row before its data: slot 8 ‖ pubkey 32 ‖ owner 32 ‖ lamports 8 ‖ rentEpoch 8 ‖
/// executable 1 ‖ length of the data 4, with little-endian integers: the format that a loader
/// accepts.
pub const PACKED_HEAD_BYTES: usize = 93;

/// An account as of a slot. Zero lamports mean that the account did not exist at that slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedRow<'a> {
    pub pubkey: &'a Pubkey,
    /// The account; `account.slot` is the slot it was read at.
    pub account: AccountRef<'a>,
}

impl PackedRow<'_> {
    /// Appends the row.
    pub fn write(&self, out: &mut Vec<u8>) {
        let account = &self.account;
        out.reserve(PACKED_HEAD_BYTES + account.data.len());
        out.extend_from_slice(&account.slot.to_le_bytes());
        out.extend_from_slice(self.pubkey);
        out.extend_from_slice(account.owner);
        out.extend_from_slice(&account.lamports.to_le_bytes());
        out.extend_from_slice(&account.rent_epoch.to_le_bytes());
        out.push(u8::from(account.executable));
        // Account data never reaches u32::MAX bytes; readers reject longer data.
        let data_bytes = u32::try_from(account.data.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&data_bytes.to_le_bytes());
        out.extend_from_slice(account.data);
    }
}

/// Iterates over the rows in order. Truncated or invalid bytes end it with an error.
#[derive(Debug, Clone)]
pub struct PackedRows<'a> {
    rest: &'a [u8],
}

impl<'a> PackedRows<'a> {
    pub fn new(bytes: &'a [u8]) -> PackedRows<'a> {
        PackedRows { rest: bytes }
    }
}

impl<'a> Iterator for PackedRows<'a> {
    type Item = Result<PackedRow<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let row = split(self.rest);
        self.rest = match &row {
            Some((_, rest)) => rest,
            None => &[],
        };
        Some(match row {
            Some((row, _)) => Ok(row),
            None => Err(Error::Internal("packed accounts are cut off".to_string())),
        })
    }
}

fn split(bytes: &[u8]) -> Option<(PackedRow<'_>, &[u8])> {
    let (slot, rest) = bytes.split_first_chunk()?;
    let (pubkey, rest) = rest.split_first_chunk()?;
    let (owner, rest) = rest.split_first_chunk()?;
    let (lamports, rest) = rest.split_first_chunk()?;
    let (rent_epoch, rest) = rest.split_first_chunk()?;
    let (executable, rest) = rest.split_first()?;
    let (data_bytes, rest) = rest.split_first_chunk()?;
    let data_bytes = u32::from_le_bytes(*data_bytes) as usize;
    if data_bytes > ACCOUNT_DATA_BYTES_MAX {
        return None;
    }
    let (data, rest) = rest.split_at_checked(data_bytes)?;
    let account = AccountRef {
        slot: u64::from_le_bytes(*slot),
        lamports: u64::from_le_bytes(*lamports),
        rent_epoch: u64::from_le_bytes(*rent_epoch),
        executable: *executable != 0,
        owner,
        data,
    };
    Some((PackedRow { pubkey, account }, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Parts = (Pubkey, Pubkey, u64, u64, u64, bool, Vec<u8>);

    fn row(parts: &Parts) -> PackedRow<'_> {
        let (pubkey, owner, slot, lamports, rent_epoch, executable, data) = parts;
        PackedRow {
            pubkey,
            account: AccountRef {
                slot: *slot,
                lamports: *lamports,
                rent_epoch: *rent_epoch,
                executable: *executable,
                owner,
                data,
            },
        }
    }

    fn any_parts() -> impl Strategy<Value = Parts> {
        let data = proptest::collection::vec(any::<u8>(), 0..200);
        any::<(Pubkey, Pubkey, u64, u64, u64, bool)>().prop_flat_map(move |p| {
            data.clone()
                .prop_map(move |data| (p.0, p.1, p.2, p.3, p.4, p.5, data))
        })
    }

    proptest! {
        #[test]
        fn rows_decode_as_written(all in proptest::collection::vec(any_parts(), 0..8)) {
            let mut bytes = Vec::new();
            all.iter().for_each(|parts| row(parts).write(&mut bytes));
            let read = PackedRows::new(&bytes).collect::<Result<Vec<_>>>().unwrap();
            prop_assert_eq!(read, all.iter().map(row).collect::<Vec<_>>());
        }

        #[test]
        fn truncated_rows_give_an_error(parts in any_parts(), cut in 1_usize..300) {
            let mut bytes = Vec::new();
            row(&parts).write(&mut bytes);
            let cut = cut.min(bytes.len());
            bytes.truncate(bytes.len() - cut);
            let all: Vec<_> = PackedRows::new(&bytes).collect();
            prop_assert_eq!(all.len(), usize::from(!bytes.is_empty()));
            prop_assert!(all.iter().all(|row| row.is_err()));
        }

        #[test]
        fn random_bytes_do_not_loop(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            prop_assert!(PackedRows::new(&bytes).count() <= bytes.len() / PACKED_HEAD_BYTES + 1);
        }
    }
}

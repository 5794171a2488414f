//! Versions of accounts packed one after the other, as another language hands them over.

use super::Loader;
use crate::error::{Error, Result};
use crate::store::AccountRef;

/// slot 8 ‖ pubkey 32 ‖ owner 32 ‖ lamports 8 ‖ rentEpoch 8 ‖ executable 1 ‖ length 4.
const HEAD_BYTES: usize = 93;

/// Takes packed versions: the head above, then as many bytes of data as its length says; integers
/// are little-endian.
pub fn push_packed(loader: &mut Loader, order: u8, rows: &[u8]) -> Result<()> {
    visit(rows, &mut |pubkey, account| {
        loader.push(order, pubkey, account)
    })
}

fn visit(
    mut rows: &[u8],
    visit: &mut dyn FnMut(&[u8; 32], &AccountRef<'_>) -> Result<()>,
) -> Result<()> {
    while !rows.is_empty() {
        let (pubkey, account, rest) = split(rows)
            .ok_or_else(|| Error::Internal("packed accounts end within one".to_string()))?;
        visit(pubkey, &account)?;
        rows = rest;
    }
    Ok(())
}

fn split(rows: &[u8]) -> Option<(&[u8; 32], AccountRef<'_>, &[u8])> {
    let (head, rest) = rows.split_first_chunk::<HEAD_BYTES>()?;
    let (slot, head) = head.split_first_chunk()?;
    let (pubkey, head) = head.split_first_chunk()?;
    let (owner, head) = head.split_first_chunk()?;
    let (lamports, head) = head.split_first_chunk()?;
    let (rent_epoch, head) = head.split_first_chunk()?;
    let (executable, length) = head.split_first()?;
    let length = u32::from_le_bytes(*length.first_chunk()?) as usize;
    let (data, rest) = rest.split_at_checked(length)?;
    let account = AccountRef {
        slot: u64::from_le_bytes(*slot),
        lamports: u64::from_le_bytes(*lamports),
        rent_epoch: u64::from_le_bytes(*rent_epoch),
        executable: *executable != 0,
        owner,
        data,
    };
    Some((pubkey, account, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_accounts_or_refused(rows in prop::collection::vec(0u8..3, 0..600)) {
            let mut bytes = 0;
            let visited = visit(&rows, &mut |_, account| {
                bytes += HEAD_BYTES + account.data.len();
                Ok(())
            });
            prop_assert!(bytes <= rows.len());
            prop_assert_eq!(visited.is_ok(), bytes == rows.len());
        }
    }
}

//! AppendVec: a sequence of accounts, each after a header of 136 bytes.

use std::io::Read;

use super::limits::ArchiveLimits;
use super::window::{Window, ends_early};
use primitives::Pubkey;
use sys::error::{Error, Result};

/// `write_version 8, data_len 8, pubkey 32, lamports 8, rent_epoch 8, owner 32, executable 1,
/// padding 7, hash 32`. Only older validators write the first and the last field; newer ones write
/// zeros.
const HEADER_BYTES: usize = 136;

/// One stored account. Lamports 0 mean that the account was closed as of this slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The slot in the storage's file name. An upper bound of the account's last change, because
    /// validators pack old storages into newer ones.
    pub slot: u64,
    pub pubkey: &'a Pubkey,
    pub lamports: u64,
    pub rent_epoch: u64,
    pub owner: &'a Pubkey,
    pub executable: bool,
    pub data: &'a [u8],
}

/// How a storage ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct StorageEnd {
    pub entries: u64,
    /// The last header claims more bytes than the file has: a partial entry after the last account.
    pub is_cut: bool,
}

struct Header<'a> {
    data_bytes: u64,
    pubkey: &'a Pubkey,
    lamports: u64,
    rent_epoch: u64,
    owner: &'a Pubkey,
    executable: u8,
}

impl<'a> Header<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Header<'a>> {
        let (_, rest) = bytes.split_first_chunk::<8>()?;
        let (data_bytes, rest) = rest.split_first_chunk()?;
        let (pubkey, rest) = rest.split_first_chunk()?;
        let (lamports, rest) = rest.split_first_chunk()?;
        let (rent_epoch, rest) = rest.split_first_chunk()?;
        let (owner, rest) = rest.split_first_chunk()?;
        Some(Header {
            data_bytes: u64::from_le_bytes(*data_bytes),
            pubkey,
            lamports: u64::from_le_bytes(*lamports),
            rent_epoch: u64::from_le_bytes(*rent_epoch),
            owner,
            executable: *rest.first()?,
        })
    }

    fn is_unused(&self) -> bool {
        self.lamports == 0 && *self.pubkey == [0; 32]
    }
}

/// Visits each account of a file of `bytes` bytes, and consumes the whole file.
pub(super) fn read_storage<R: Read>(
    window: &mut Window<R>,
    bytes: u64,
    slot: u64,
    limits: &ArchiveLimits,
    visit: &mut dyn FnMut(Entry<'_>) -> Result<()>,
) -> Result<StorageEnd> {
    let mut end = StorageEnd::default();
    let mut rest = bytes;
    while rest >= HEADER_BYTES as u64 {
        let header = Header::parse(window.take(HEADER_BYTES)?).ok_or_else(ends_early)?;
        if header.is_unused() {
            break;
        }
        if header.data_bytes > limits.account_data_bytes_max as u64 {
            return Err(Error::SnapshotInvalid(format!(
                "an account of slot {slot} claims {} bytes of data",
                header.data_bytes
            )));
        }
        if header.executable > 1 {
            return Err(Error::SnapshotInvalid(format!(
                "an account of slot {slot} is neither executable nor not"
            )));
        }
        let length = HEADER_BYTES + header.data_bytes as usize;
        if length as u64 > rest {
            end.is_cut = true;
            break;
        }
        // Take the entry again: a view is invalid after the window moves.
        let entry = window.take(length)?;
        let (header, data) = entry
            .split_at_checked(HEADER_BYTES)
            .ok_or_else(ends_early)?;
        let header = Header::parse(header).ok_or_else(ends_early)?;
        visit(Entry {
            slot,
            pubkey: header.pubkey,
            lamports: header.lamports,
            rent_epoch: header.rent_epoch,
            owner: header.owner,
            executable: header.executable == 1,
            data,
        })?;
        end.entries += 1;
        // The padding of the last account may exceed the file.
        let step = (length as u64).next_multiple_of(8).min(rest);
        window.skip(step)?;
        rest -= step;
    }
    window.skip(rest)?;
    Ok(end)
}

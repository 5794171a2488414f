//! One version of an account in a run: first the sort key, then the store's record.

use primitives::Pubkey;
use serde::{Deserialize, Serialize};
use store::{AccountRef, encode_head};
use sys::error::{Error, Result};

/// pubkey 32 ‖ descending version order 16.
pub(super) const KEY_BYTES: usize = 48;
/// The key, then four bytes with the kind and the length of the value.
pub(super) const HEAD_BYTES: usize = KEY_BYTES + 4;
const KIND_SHIFT: u32 = 30;
const LENGTH_MASK: u32 = (1 << KIND_SHIFT) - 1;
const ORDER_SHIFT: u32 = 56;

/// The order of versions of an account: slot, then order of sources, then position in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct VersionOrder {
    pub slot: u64,
    in_slot: u64,
}

impl VersionOrder {
    pub fn new(slot: u64, order: u8, position: u64) -> VersionOrder {
        VersionOrder {
            slot,
            in_slot: u64::from(order) << ORDER_SHIFT | position,
        }
    }
}

/// What the load does with a version if it is the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Closed, or outside the scope: only supersedes older versions.
    Gone,
    Kept,
    /// A mint outside the scope, kept only if a kept account needs it.
    Mint,
}

/// A record of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'r> {
    pub kind: Kind,
    /// The store's record; empty for `Gone`.
    pub value: &'r [u8],
}

/// Bytes of a version in a run.
pub(super) fn bytes_of(kind: Kind, account: &AccountRef<'_>) -> usize {
    match kind {
        Kind::Gone => HEAD_BYTES,
        Kind::Kept | Kind::Mint => HEAD_BYTES + store::HEAD_BYTES + account.data.len(),
    }
}

/// Appends a version.
pub(super) fn append(
    out: &mut Vec<u8>,
    pubkey: &Pubkey,
    version_order: VersionOrder,
    kind: Kind,
    account: &AccountRef<'_>,
) {
    let length = bytes_of(kind, account) - HEAD_BYTES;
    out.extend_from_slice(pubkey);
    // Newer versions sort first.
    out.extend_from_slice(&(!version_order.slot).to_be_bytes());
    out.extend_from_slice(&(!version_order.in_slot).to_be_bytes());
    let packed = (kind as u32) << KIND_SHIFT | length as u32 & LENGTH_MASK;
    out.extend_from_slice(&packed.to_be_bytes());
    if kind != Kind::Gone {
        out.extend_from_slice(&encode_head(account));
        out.extend_from_slice(account.data);
    }
}

/// Length in bytes of the record with this head.
pub(super) fn length_at(head: &[u8; HEAD_BYTES]) -> usize {
    HEAD_BYTES + (packed_at(head) & LENGTH_MASK) as usize
}

fn packed_at(head: &[u8; HEAD_BYTES]) -> u32 {
    head.last_chunk()
        .map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Reads a whole record.
pub(super) fn decode(bytes: &[u8]) -> Result<Record<'_>> {
    let damaged = || Error::Internal("a record of a sorted run is damaged".to_string());
    let (head, value) = bytes
        .split_first_chunk::<HEAD_BYTES>()
        .ok_or_else(damaged)?;
    let kind = match packed_at(head) >> KIND_SHIFT {
        0 => Kind::Gone,
        1 => Kind::Kept,
        2 => Kind::Mint,
        _ => return Err(damaged()),
    };
    Ok(Record { kind, value })
}

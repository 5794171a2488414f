//! The format of a slot's changes in a segment file, the same in memory and on disk.
//!
//! The record of a slot is a sequence of chunks of whole changes, accounts first, then of what
//! belongs to its block as a whole (`rows::part`). Each chunk is a
//! head of 32 bytes and a body: the changes (`rows::change`), as one zstd frame where that makes
//! them smaller. A chunk has at most 256 KiB of changes, or one change that is larger: whoever
//! reads some changes of a slot, or continues within it, decompresses no more than their chunks.
//!
//! | bytes of a head | content, big-endian |
//! |---|---|
//! | 4 | `SLFC` |
//! | 1 | flags: 1 compressed, 2 transactions, 4 entries, 8 the rest of a block, 16 `holders` |
//! | 3 | zeros |
//! | 8 | slot |
//! | 4 | position in the record |
//! | 4 | bytes of the body |
//! | 4 | bytes of the changes |
//! | 4 | CRC-32 of the head up to here and of the body |

use std::io;

pub(crate) const HEAD_BYTES: usize = 32;
/// A chunk is closed with this many bytes of changes.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;
/// Smaller chunks are not compressed: a page is written for them anyway.
const COMPRESSED_BYTES_MIN: usize = 1024;
/// Account data and logs shrink to about a quarter at the fastest level.
const LEVEL: i32 = 1;

const MAGIC: [u8; 4] = *b"SLFC";
const IS_COMPRESSED: u8 = 1;
const IS_OF_TRANSACTIONS: u8 = 2;
const IS_OF_ENTRIES: u8 = 4;
const IS_OF_BLOCK: u8 = 8;
const IS_OF_HOLDERS: u8 = 16;

/// What a chunk has. Readers of changes pass the last three over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    Accounts,
    Transactions,
    Entries,
    Block,
    /// The keys of the rows of `holders` that the block's commit has refilled, for those who follow
    /// every row: no change of an account explains them.
    Holders,
}

impl ChunkKind {
    fn flag(self) -> u8 {
        match self {
            ChunkKind::Accounts => 0,
            ChunkKind::Transactions => IS_OF_TRANSACTIONS,
            ChunkKind::Entries => IS_OF_ENTRIES,
            ChunkKind::Block => IS_OF_BLOCK,
            ChunkKind::Holders => IS_OF_HOLDERS,
        }
    }

    fn of_flags(flags: u8) -> Option<ChunkKind> {
        Some(match flags & !IS_COMPRESSED {
            0 => ChunkKind::Accounts,
            IS_OF_TRANSACTIONS => ChunkKind::Transactions,
            IS_OF_ENTRIES => ChunkKind::Entries,
            IS_OF_BLOCK => ChunkKind::Block,
            IS_OF_HOLDERS => ChunkKind::Holders,
            _ => return None,
        })
    }
}

/// Where the changes of a slot are: 40 bytes of the slot's row in `blocks`, big-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    /// The number of the segment file.
    pub segment: u64,
    /// Where the record begins in the file.
    pub at: u64,
    /// Bytes of the record.
    pub bytes: u64,
    pub changes: u64,
    /// Bytes of the changes.
    pub changes_bytes: u64,
}

impl Location {
    pub const BYTES: usize = 40;

    pub fn encode(&self) -> [u8; Location::BYTES] {
        let mut bytes = [0; Location::BYTES];
        let numbers = [
            self.segment,
            self.at,
            self.bytes,
            self.changes,
            self.changes_bytes,
        ];
        for (to, number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
            *to = number.to_be_bytes();
        }
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Location> {
        let numbers: &[u8; Location::BYTES] = bytes.try_into().ok()?;
        let [segment, at, bytes, changes, changes_bytes] = numbers.as_chunks().0 else {
            return None;
        };
        let of = |number: &[u8; 8]| u64::from_be_bytes(*number);
        Some(Location {
            segment: of(segment),
            at: of(at),
            bytes: of(bytes),
            changes: of(changes),
            changes_bytes: of(changes_bytes),
        })
    }

    pub fn end(&self) -> u64 {
        self.at.saturating_add(self.bytes)
    }
}

/// The head of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    flags: u8,
    pub kind: ChunkKind,
    pub slot: u64,
    /// Of the chunk in its record.
    pub position: u32,
    pub body_bytes: u32,
    pub changes_bytes: u32,
    check: u32,
}

impl Head {
    pub fn decode(bytes: &[u8]) -> Option<Head> {
        let (magic, rest) = bytes.split_first_chunk()?;
        let ([flags, zeros @ ..], rest) = rest.split_first_chunk::<4>()?;
        let (slot, rest) = rest.split_first_chunk()?;
        let numbers: &[u8; 16] = rest.try_into().ok()?;
        let [position, body_bytes, changes_bytes, check] = numbers.as_chunks().0 else {
            return None;
        };
        let head = Head {
            flags: *flags,
            kind: ChunkKind::of_flags(*flags)?,
            slot: u64::from_be_bytes(*slot),
            position: u32::from_be_bytes(*position),
            body_bytes: u32::from_be_bytes(*body_bytes),
            changes_bytes: u32::from_be_bytes(*changes_bytes),
            check: u32::from_be_bytes(*check),
        };
        (*magic == MAGIC && *zeros == [0; 3]).then_some(head)
    }

    fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4] = self.flags;
        bytes[8..16].copy_from_slice(&self.slot.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.position.to_be_bytes());
        bytes[20..24].copy_from_slice(&self.body_bytes.to_be_bytes());
        bytes[24..28].copy_from_slice(&self.changes_bytes.to_be_bytes());
        bytes[28..32].copy_from_slice(&self.check.to_be_bytes());
        bytes
    }

    pub fn is_compressed(&self) -> bool {
        self.flags & IS_COMPRESSED != 0
    }

    /// Whether these are the bytes that were written.
    pub fn fits(&self, body: &[u8]) -> bool {
        self.check == check_of(&self.encode(), body)
    }
}

fn check_of(head: &[u8; HEAD_BYTES], body: &[u8]) -> u32 {
    let mut check = crc32fast::Hasher::new();
    check.update(head.get(..28).unwrap_or_default());
    check.update(body);
    check.finalize()
}

/// Packs the changes of one slot after the other into chunks.
pub(crate) struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    body: Vec<u8>,
}

impl Packer {
    pub fn new() -> io::Result<Packer> {
        Ok(Packer {
            compressor: zstd::bulk::Compressor::new(LEVEL)?,
            body: Vec::new(),
        })
    }

    /// The chunk of these changes: its head and its body. `changes` are at least one.
    pub fn pack<'p>(
        &'p mut self,
        slot: u64,
        position: u32,
        kind: ChunkKind,
        changes: &'p [u8],
    ) -> io::Result<([u8; HEAD_BYTES], &'p [u8])> {
        let too_large = |_| io::Error::other(format!("slot {slot} has a change over 4 GiB"));
        let mut body = changes;
        let mut flags = kind.flag();
        if changes.len() >= COMPRESSED_BYTES_MIN {
            self.body.clear();
            self.body
                .reserve(zstd::zstd_safe::compress_bound(changes.len()));
            self.compressor
                .compress_to_buffer(changes, &mut self.body)?;
            // Otherwise a reader gains more without a copy.
            if self.body.len() < changes.len() - changes.len() / 8 {
                flags |= IS_COMPRESSED;
                body = &self.body;
            }
        }
        let mut head = Head {
            flags,
            kind,
            slot,
            position,
            body_bytes: u32::try_from(body.len()).map_err(too_large)?,
            changes_bytes: u32::try_from(changes.len()).map_err(too_large)?,
            check: 0,
        };
        head.check = check_of(&head.encode(), body);
        Ok((head.encode(), body))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_location_is_read_as_it_was_written(numbers: [u64; 5]) {
            let [segment, at, bytes, changes, changes_bytes] = numbers;
            let location = Location { segment, at, bytes, changes, changes_bytes };
            prop_assert_eq!(Location::decode(&location.encode()), Some(location));
        }

        #[test]
        fn any_bytes_are_a_head_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let magic = [&MAGIC[..], &bytes].concat();
            for bytes in [&bytes[..], &magic] {
                if let Some(head) = Head::decode(bytes) {
                    prop_assert_eq!(&head.encode()[..], bytes);
                }
                prop_assert!(Location::decode(bytes).is_none() || bytes.len() == Location::BYTES);
            }
        }

        #[test]
        fn each_flipped_bit_of_a_chunk_is_noticed(
            changes in prop::collection::vec(0u8..4, 1..5_000),
            at: prop::sample::Index,
            bit in 0u8..8,
        ) {
            let mut packer = Packer::new().unwrap();
            let (head, body) = packer.pack(7, 3, ChunkKind::Transactions, &changes).unwrap();
            let mut bytes = [&head[..], body].concat();
            prop_assert!(Head::decode(&head).unwrap().fits(body));
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let (head, body) = bytes.split_at(HEAD_BYTES);
            prop_assert!(Head::decode(head).is_none_or(|head| !head.fits(body)));
        }
    }
}

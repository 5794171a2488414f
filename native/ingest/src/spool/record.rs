//! Record format: a header of 32 bytes, then the block compressed with zstd.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `SLSD` |
//! | 4 | length of the data after the header, little-endian |
//! | 8 | length of the block before compression |
//! | 8 | slot |
//! | 8 | first bytes of the SHA-256 of the header up to here and the data after it |

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use sha2::{Digest, Sha256};

use super::codec::{decode, encode};
use store::Block;
use sys::error::{Error, Result};

pub const HEAD_BYTES: usize = 32;
const MAGIC: [u8; 4] = *b"SLSD";
/// Account data shrinks to a quarter at the fastest level. A higher level would slow the feed.
const LEVEL: i32 = 1;

/// A record header.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    pub payload_bytes: u32,
    pub block_bytes: u64,
    check: [u8; 8],
    bytes: [u8; HEAD_BYTES],
}

/// Encodes a block as a complete record.
pub fn to_record(block: &Block) -> Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(vec![0; HEAD_BYTES], LEVEL)?;
    let mut counted = Counted {
        to: &mut encoder,
        bytes: 0,
    };
    encode(block, &mut counted)?;
    let block_bytes = counted.bytes;
    let mut record = encoder.finish()?;
    let payload_bytes = u32::try_from(record.len().saturating_sub(HEAD_BYTES))
        .map_err(|_| Error::Internal(format!("the block of slot {} is over 4 GiB", block.slot)))?;
    let mut head = [0; HEAD_BYTES];
    head[0..4].copy_from_slice(&MAGIC);
    head[4..8].copy_from_slice(&payload_bytes.to_le_bytes());
    head[8..16].copy_from_slice(&block_bytes.to_le_bytes());
    head[16..24].copy_from_slice(&block.slot.to_le_bytes());
    let check = check_of(&head, record.get(HEAD_BYTES..).unwrap_or_default());
    head[24..32].copy_from_slice(&check);
    if let Some(head_bytes) = record.first_chunk_mut() {
        *head_bytes = head;
    }
    Ok(record)
}

/// Reads the header at this offset. Returns `None` if there is no header or the record is
/// incomplete.
pub fn head_at(file: &File, at: u64, end: u64) -> Result<Option<Head>> {
    let Some(left) = end
        .checked_sub(at)
        .filter(|left| *left >= HEAD_BYTES as u64)
    else {
        return Ok(None);
    };
    let mut bytes = [0; HEAD_BYTES];
    file.read_exact_at(&mut bytes, at)?;
    let head = Head {
        payload_bytes: u32::from_le_bytes(part(&bytes, 4)),
        block_bytes: u64::from_le_bytes(part(&bytes, 8)),
        check: part(&bytes, 24),
        bytes,
    };
    let is_whole = HEAD_BYTES as u64 + u64::from(head.payload_bytes) <= left;
    Ok((part(&bytes, 0) == MAGIC && is_whole).then_some(head))
}

/// Reads the block after a header. Returns `None` if the checksum does not match.
pub fn block_at(file: &File, at: u64, head: &Head) -> Result<Option<Block>> {
    let mut payload = vec![0; head.payload_bytes as usize];
    file.read_exact_at(&mut payload, at + HEAD_BYTES as u64)?;
    if check_of(&head.bytes, &payload) != head.check {
        return Ok(None);
    }
    let mut decoder = zstd::Decoder::with_buffer(payload.as_slice())?;
    let block = decode(&mut decoder.by_ref().take(head.block_bytes))?;
    Ok(Some(block))
}

impl Head {
    /// Length of header and payload.
    pub fn record_bytes(&self) -> u64 {
        HEAD_BYTES as u64 + u64::from(self.payload_bytes)
    }
}

fn check_of(head: &[u8; HEAD_BYTES], payload: &[u8]) -> [u8; 8] {
    let mut hash = Sha256::new();
    hash.update(head.get(..24).unwrap_or_default());
    hash.update(payload);
    part(&hash.finalize(), 0)
}

/// Returns `N` bytes from `at`, or zeros if there are fewer, which does not occur.
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk());
    found.copied().unwrap_or([0; N])
}

/// A writer that counts the bytes written.
struct Counted<'a, W> {
    to: &'a mut W,
    bytes: u64,
}

impl<W: io::Write> io::Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

//! The first part of the manifest: the bank of the snapshot. The rest (stakes, lengths of storages,
//! which new validators leave empty) is large and not needed.

use std::io::Read;

use serde::{Deserialize, Serialize};

use super::window::Window;
use sys::error::{Error, Result};

/// The bank of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub slot: u64,
    pub parent_slot: u64,
    pub block_height: u64,
    /// The block's hash, which the next block has as its parent hash.
    pub blockhash: [u8; 32],
    /// The hashes of its last blocks, of up to 300 before it and its own, in no order.
    pub recent_blockhashes: Vec<[u8; 32]>,
    pub bank_hash: [u8; 32],
    pub epoch: u64,
    /// Total lamports of all accounts.
    pub capitalization: u64,
    pub transaction_count: u64,
}

/// Upper bound. Blockhashes are kept for 300 blocks.
const BLOCKHASHES_MAX: u64 = 100_000;
/// Upper bound. One for each slot since the last root; a validator far behind has thousands.
const ANCESTORS_MAX: u64 = 10_000_000;
/// Upper bound. One for each restart of the cluster.
const HARD_FORKS_MAX: u64 = 100_000;

/// Decodes little-endian integers of fixed size, options with a one-byte tag, and lists with a
/// length of 8 bytes.
struct Fields<'a, R> {
    window: &'a mut Window<R>,
    rest: u64,
}

impl<R: Read> Fields<'_, R> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.rest = self
            .rest
            .checked_sub(N as u64)
            .ok_or_else(|| invalid("it is too short"))?;
        let bytes = self.window.take(N)?;
        let array = bytes.try_into().map_err(|_| invalid("it is too short"))?;
        self.window.pass(N);
        Ok(array)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn is_some(&mut self) -> Result<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(invalid("an option is neither there nor not")),
        }
    }

    fn length(&mut self, max: u64, what: &str) -> Result<u64> {
        let length = self.u64()?;
        if length > max {
            return Err(invalid(&format!("it claims {length} {what}")));
        }
        Ok(length)
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        self.rest = self
            .rest
            .checked_sub(bytes)
            .ok_or_else(|| invalid("it is too short"))?;
        self.window.skip(bytes)
    }
}

fn invalid(reason: &str) -> Error {
    Error::SnapshotInvalid(format!("the manifest is not sound: {reason}"))
}

impl Manifest {
    /// Reads a manifest of `bytes` bytes, and consumes all of it.
    pub(super) fn read<R: Read>(window: &mut Window<R>, bytes: u64) -> Result<Manifest> {
        let mut fields = Fields {
            window,
            rest: bytes,
        };
        let manifest = Self::read_prefix(&mut fields)?;
        let rest = fields.rest;
        window.skip(rest)?;
        Ok(manifest)
    }

    fn read_prefix<R: Read>(fields: &mut Fields<'_, R>) -> Result<Manifest> {
        let (blockhash, recent_blockhashes) = read_blockhashes(fields)?;
        let ancestors = fields.length(ANCESTORS_MAX, "ancestors")?;
        fields.skip(ancestors * 16)?;
        let bank_hash = fields.array()?;
        // The parent's bank hash.
        fields.skip(32)?;
        let parent_slot = fields.u64()?;
        let hard_forks = fields.length(HARD_FORKS_MAX, "hard forks")?;
        fields.skip(hard_forks * 16)?;
        let transaction_count = fields.u64()?;
        // Tick height, signature count.
        fields.skip(16)?;
        let capitalization = fields.u64()?;
        // Max tick height.
        fields.skip(8)?;
        if fields.is_some()? {
            // Hashes per tick.
            fields.skip(8)?;
        }
        // Ticks per slot, nanoseconds per slot (16 bytes), time of genesis, slots per year, bytes
        // of all data.
        fields.skip(8 + 16 + 8 + 8 + 8)?;
        let slot = fields.u64()?;
        let epoch = fields.u64()?;
        let block_height = fields.u64()?;
        if slot > 0 && parent_slot >= slot || block_height > slot {
            return Err(invalid("its slots do not rise"));
        }
        Ok(Manifest {
            slot,
            parent_slot,
            block_height,
            blockhash,
            recent_blockhashes,
            bank_hash,
            epoch,
            capitalization,
            transaction_count,
        })
    }
}

/// Returns the newest blockhash, and all that the bank still has.
fn read_blockhashes<R: Read>(fields: &mut Fields<'_, R>) -> Result<([u8; 32], Vec<[u8; 32]>)> {
    // The index of the newest.
    fields.skip(8)?;
    if !fields.is_some()? {
        return Err(invalid("it has no blockhash"));
    }
    let blockhash = fields.array()?;
    let mut recent = Vec::new();
    for _ in 0..fields.length(BLOCKHASHES_MAX, "blockhashes")? {
        recent.push(fields.array()?);
        // Lamports per signature, index, time.
        fields.skip(8 + 8 + 8)?;
    }
    // Max age.
    fields.skip(8)?;
    Ok((blockhash, recent))
}

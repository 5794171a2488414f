//! What several reads share: limits, the context of a reply, and the look-up of an account.

use crate::account_json::{Accounts, push_u64};
use crate::reply::{CHUNK_BYTES, ReplyWriter};
use primitives::Pubkey;
use primitives::token::{NATIVE_MINT, TokenProgram};
use store::{AccountRef, Snapshot, Tip};
use sys::error::{Error, Result};
use sys::pool::Turn;

/// The outcome of a read with limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    Written,
    /// Over the limits: nothing was written, and the read must run on a pool.
    TooLarge,
}

/// Limits of a read outside a pool. The defaults are the event loop's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Account data to read, including mints for jsonParsed. 256 KiB take about 50 µs of base64.
    pub records_bytes_max: usize,
    /// Account data to compress. 16 KiB take about 100 µs of zstd.
    pub zstd_bytes_max: usize,
}

impl Default for ReadLimits {
    fn default() -> Self {
        ReadLimits {
            records_bytes_max: 256 * 1024,
            zstd_bytes_max: 16 * 1024,
        }
    }
}

impl ReadLimits {
    /// For pool threads.
    pub const NONE: ReadLimits = ReadLimits {
        records_bytes_max: usize::MAX,
        zstd_bytes_max: usize::MAX,
    };
}

/// The receiver of a long reply, which is written in chunks of about [`CHUNK_BYTES`].
pub trait ReplySink {
    /// An empty chunk to write to.
    fn chunk(&mut self) -> Vec<u8>;

    /// Takes the next bytes. It may wait for space. It fails if the reader has closed or the
    /// deadline has passed.
    fn write(&mut self, chunk: Vec<u8>) -> Result<()>;
}

impl ReplySink for Vec<u8> {
    fn chunk(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn write(&mut self, chunk: Vec<u8>) -> Result<()> {
        self.extend_from_slice(&chunk);
        Ok(())
    }
}

/// Sends a reply as it is made.
pub struct StreamedReply<'w> {
    writer: &'w mut ReplyWriter,
    turn: &'w Turn,
}

impl<'w> StreamedReply<'w> {
    /// `turn` is the thread that makes it.
    pub fn new(writer: &'w mut ReplyWriter, turn: &'w Turn) -> Self {
        StreamedReply { writer, turn }
    }
}

impl ReplySink for StreamedReply<'_> {
    fn chunk(&mut self) -> Vec<u8> {
        self.writer.chunk()
    }

    fn write(&mut self, chunk: Vec<u8>) -> Result<()> {
        self.writer.push(chunk, Some(self.turn))
    }
}

/// Sends a reply only once it is complete, so that a failure leaves nothing of it.
pub struct CompleteReply<'w> {
    writer: &'w mut ReplyWriter,
    chunks: Vec<Vec<u8>>,
}

impl<'w> CompleteReply<'w> {
    pub fn new(writer: &'w mut ReplyWriter) -> Self {
        CompleteReply {
            writer,
            chunks: Vec::new(),
        }
    }

    /// Writes one chunk, of any length.
    pub fn append(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let mut out = self.writer.chunk();
        write(&mut out)?;
        self.keep(out)
    }

    /// Sends what was written.
    pub fn send(self) -> Result<()> {
        self.writer.queue_all(self.chunks)
    }

    /// Each chunk is charged as it is made, so that a reply without room ends there.
    fn keep(&mut self, chunk: Vec<u8>) -> Result<()> {
        self.chunks.push(self.writer.reserve(chunk)?);
        Ok(())
    }
}

impl ReplySink for CompleteReply<'_> {
    fn chunk(&mut self) -> Vec<u8> {
        self.writer.chunk()
    }

    fn write(&mut self, chunk: Vec<u8>) -> Result<()> {
        self.keep(chunk)
    }
}

/// Passes `out` to the sink if it is complete, and goes on with an empty one.
pub(super) fn spill(sink: &mut dyn ReplySink, out: &mut Vec<u8>) -> Result<()> {
    if out.len() < CHUNK_BYTES {
        return Ok(());
    }
    let next = sink.chunk();
    sink.write(std::mem::replace(out, next))
}

impl Accounts for Snapshot<'_> {
    fn account(&self, pubkey: &Pubkey) -> Result<Option<AccountRef<'_>>> {
        Snapshot::account(self, pubkey)
    }

    fn unix_timestamp(&self) -> i64 {
        Snapshot::unix_timestamp(self)
    }
}

/// The block that a read is answered by (contract: commitment).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commitment {
    /// The newest finalized block; also for an absent or unknown name, as in Agave.
    Finalized = 0,
    /// The newest block, which is confirmed; also for `processed`.
    Confirmed = 1,
}

impl Commitment {
    pub fn of_name(name: &[u8]) -> Commitment {
        match name {
            b"confirmed" | b"processed" => Commitment::Confirmed,
            _ => Commitment::Finalized,
        }
    }

    /// Its newest block. Fails for a store without a block.
    pub fn block(self, snapshot: &Snapshot<'_>) -> Result<Tip> {
        let block = match self {
            Commitment::Finalized => snapshot.finalized()?,
            Commitment::Confirmed => snapshot.tip().copied(),
        };
        block.ok_or(Error::NoIndex)
    }
}

/// In the place of what was not written after the slot of `changedSinceSlot` (contract:
/// unchanged-since-slot).
pub const UNCHANGED: &[u8] = b"{\"unchanged\":true}";

/// Whether an account is to be written as [`UNCHANGED`].
pub(super) fn is_unchanged(account: &AccountRef<'_>, changed_since: Option<u64>) -> bool {
    changed_since.is_some_and(|since| account.slot <= since)
}

/// Appends `{"context":{"slot":…},"value":` with the slot of the tip. Fails for a store without a
/// block, which has no slot.
pub(crate) fn push_context(snapshot: &Snapshot<'_>, out: &mut Vec<u8>) -> Result<()> {
    let tip = snapshot.tip().ok_or(Error::NoIndex)?;
    push_context_of(tip.slot, out);
    Ok(())
}

/// Appends `{"context":{"slot":…},"value":`.
pub(super) fn push_context_of(slot: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"context\":{\"slot\":");
    push_u64(out, slot);
    out.extend_from_slice(b"},\"value\":");
}

/// The account, or `None` if there is none. Fails if the store may lack it.
pub(super) fn known<'t>(
    snapshot: &'t Snapshot<'_>,
    pubkey: &Pubkey,
) -> Result<Option<AccountRef<'t>>> {
    let found = snapshot.account(pubkey)?;
    if found.is_none() && !snapshot.is_complete()? {
        return Err(Error::IndexIncomplete);
    }
    Ok(found)
}

/// Fails for a store that lacks accounts, so that no list is without some of its rows.
pub(super) fn demand_complete(snapshot: &Snapshot<'_>) -> Result<()> {
    if snapshot.is_complete()? {
        return Ok(());
    }
    Err(Error::IndexIncomplete)
}

/// The accounts that jsonParsed reads for one that was asked for by its address.
pub(super) struct KnownAccounts<'s, 't>(pub &'s Snapshot<'t>);

impl Accounts for KnownAccounts<'_, '_> {
    fn account(&self, pubkey: &Pubkey) -> Result<Option<AccountRef<'_>>> {
        known(self.0, pubkey)
    }

    fn unix_timestamp(&self) -> i64 {
        self.0.unix_timestamp()
    }
}

/// The account, or `None` if there is none. Fails for an address outside of the store's scope, and
/// if the store may lack the account.
pub(super) fn find<'t>(
    snapshot: &'t Snapshot<'_>,
    pubkey: &Pubkey,
) -> Result<Option<AccountRef<'t>>> {
    snapshot.tip().ok_or(Error::NoIndex)?;
    let found = snapshot.account(pubkey)?;
    if found.is_some() {
        return Ok(found);
    }
    if !snapshot.scope().covers_pubkey(pubkey) {
        return Err(Error::OutsideScope);
    }
    demand_complete(snapshot).map(|()| None)
}

/// Whether the store has every token account of a mint: the mint is in its scope, or the token
/// program that owns the mint is. As in Agave, token accounts of a mint are those of its program.
pub(super) fn holds_mint(snapshot: &Snapshot<'_>, mint: &Pubkey) -> Result<bool> {
    let scope = snapshot.scope();
    if scope.covers_mint(mint) {
        return Ok(true);
    }
    let program = match snapshot.account(mint)? {
        _ if *mint == NATIVE_MINT => Some(TokenProgram::Token),
        Some(account) => TokenProgram::of(account.owner),
        None => None,
    };
    Ok(program.is_some_and(|program| scope.covers_program(program.id())))
}

/// Whether a written answer is whole.
pub(super) trait Ended {
    fn is_whole(&self) -> bool;
}

impl Ended for () {
    fn is_whole(&self) -> bool {
        true
    }
}

impl Ended for Outcome {
    fn is_whole(&self) -> bool {
        *self == Outcome::Written
    }
}

/// Removes what was written, unless it is the whole answer.
pub(super) fn all_or_nothing<T: Ended>(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<T>,
) -> Result<T> {
    let start = out.len();
    let ended = write(out);
    if !ended.as_ref().is_ok_and(T::is_whole) {
        out.truncate(start);
    }
    ended
}

//! One function for each read method. Each writes the JSON of `result` alone: the envelope belongs
//! to who asked.

mod accounts;
mod pages;
mod tokens;

pub use accounts::{
    ADDRESSES_AT_ONCE_MAX, account_info, multiple_accounts, stream_account, stream_accounts,
};
pub use pages::{PageView, program_accounts, token_accounts_by_owner};
pub use tokens::{token_account_balance, token_largest_accounts, token_supply};

use crate::account_json::{Accounts, push_u64};
use crate::reply::ReplyWriter;
use primitives::Pubkey;
use primitives::encoding::push_pubkey;
use store::{AccountRef, Snapshot};
use sys::error::{Error, Result};

/// Blocks for which a blockhash is good: MAX_PROCESSING_AGE of the validator.
const BLOCKHASH_AGE_MAX: u64 = 150;

/// How a read that has limits ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    Written,
    /// Over the limits: nothing was written, and a pool should do it.
    TooLarge,
}

/// How much a read may do before it belongs on a pool. The defaults are the event loop's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Account data to be read, mints that jsonParsed needs included. 256 KiB are about 50 µs of
    /// base64.
    pub records_bytes_max: usize,
    /// Account data to be compressed. 16 KiB are about 100 µs of zstd.
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
    /// For a pool's thread.
    pub const NONE: ReadLimits = ReadLimits {
        records_bytes_max: usize::MAX,
        zstd_bytes_max: usize::MAX,
    };
}

/// Where a reply of any size goes, piece by piece.
pub trait ReplySink {
    /// Takes the next bytes; it may wait for room, and fails where nobody listens any more or time
    /// is up.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;
}

impl ReplySink for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

impl ReplySink for ReplyWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.push(bytes.to_vec())
    }
}

impl Accounts for Snapshot<'_> {
    fn account(&self, pubkey: &Pubkey) -> Result<Option<AccountRef<'_>>> {
        Snapshot::account(self, pubkey)
    }

    fn unix_timestamp(&self) -> i64 {
        Snapshot::unix_timestamp(self)
    }
}

/// getLatestBlockhash: the tip's hash, and the last block height at which it is good.
pub fn latest_blockhash(snapshot: &Snapshot<'_>, out: &mut Vec<u8>) -> Result<()> {
    let tip = snapshot.tip().ok_or(Error::NoIndex)?;
    push_context(snapshot, out)?;
    out.extend_from_slice(b"{\"blockhash\":\"");
    push_pubkey(out, &tip.blockhash);
    out.extend_from_slice(b"\",\"lastValidBlockHeight\":");
    push_u64(out, tip.block_height.saturating_add(BLOCKHASH_AGE_MAX));
    out.extend_from_slice(b"}}");
    Ok(())
}

/// getBalance: the lamports of an account; 0 where there is none.
pub fn balance(snapshot: &Snapshot<'_>, pubkey: &Pubkey, out: &mut Vec<u8>) -> Result<()> {
    let lamports = find(snapshot, pubkey)?.map_or(0, |account| account.lamports);
    push_context(snapshot, out)?;
    push_u64(out, lamports);
    out.push(b'}');
    Ok(())
}

/// isBlockhashValid: whether a transaction that names this hash may still land.
pub fn blockhash_validity(
    snapshot: &Snapshot<'_>,
    blockhash: &[u8; 32],
    out: &mut Vec<u8>,
) -> Result<()> {
    push_context(snapshot, out)?;
    let found = snapshot.block_of_hash(blockhash, BLOCKHASH_AGE_MAX)?;
    out.extend_from_slice(if found.is_some() { b"true}" } else { b"false}" });
    Ok(())
}

/// Appends `{"context":{"slot":…},"value":`. A store without a block has no slot to answer for.
fn push_context(snapshot: &Snapshot<'_>, out: &mut Vec<u8>) -> Result<()> {
    let tip = snapshot.tip().ok_or(Error::NoIndex)?;
    out.extend_from_slice(b"{\"context\":{\"slot\":");
    push_u64(out, tip.slot);
    out.extend_from_slice(b"},\"value\":");
    Ok(())
}

/// The account, or the fact that there is none: a scoped store does not know that of every address.
fn find<'t>(snapshot: &'t Snapshot<'_>, pubkey: &Pubkey) -> Result<Option<AccountRef<'t>>> {
    snapshot.tip().ok_or(Error::NoIndex)?;
    let found = snapshot.account(pubkey)?;
    if found.is_none() && !snapshot.scope().covers_pubkey(pubkey) {
        return Err(Error::OutsideScope);
    }
    Ok(found)
}

/// What a write left: whether it is the whole answer.
trait Ended {
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

/// Takes back what was written, unless it is the whole answer.
fn all_or_nothing<T: Ended>(
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

#[cfg(test)]
mod tests;

//! getLatestBlockhash and isBlockhashValid.

use super::common::push_context;
use crate::account_json::push_u64;
use primitives::encoding::push_pubkey;
use store::Snapshot;
use sys::error::{Error, Result};

/// Blocks for which a blockhash is valid: MAX_PROCESSING_AGE of the validator.
pub const BLOCKHASH_AGE_MAX: u64 = 150;

/// getLatestBlockhash: the tip's hash, and the last block height at which it is valid.
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

/// isBlockhashValid: whether a transaction with this blockhash may still land.
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

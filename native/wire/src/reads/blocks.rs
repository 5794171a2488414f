//! getLatestBlockhash and isBlockhashValid.

use super::common::{Commitment, push_context_of};
use crate::account_json::push_u64;
use primitives::encoding::push_pubkey;
use store::Snapshot;
use sys::error::{Error, Result};

/// Blocks for which a blockhash is valid: MAX_PROCESSING_AGE of the validator.
pub const BLOCKHASH_AGE_MAX: u64 = 150;

/// getLatestBlockhash: a block's hash, and the last block height at which it is valid. Fails for a
/// finalized block whose hash is no longer valid.
pub fn latest_blockhash(
    snapshot: &Snapshot<'_>,
    commitment: Commitment,
    out: &mut Vec<u8>,
) -> Result<()> {
    let block = commitment.block(snapshot)?;
    let last_valid = block.block_height.saturating_add(BLOCKHASH_AGE_MAX);
    if snapshot
        .tip()
        .is_some_and(|tip| tip.block_height > last_valid)
    {
        return Err(Error::NodeUnhealthy);
    }
    push_context_of(block.slot, out);
    out.extend_from_slice(b"{\"blockhash\":\"");
    push_pubkey(out, &block.blockhash);
    out.extend_from_slice(b"\",\"lastValidBlockHeight\":");
    push_u64(out, last_valid);
    out.extend_from_slice(b"}}");
    Ok(())
}

/// isBlockhashValid: whether a transaction with this blockhash may still land. As in Agave, the
/// hash of a block after that of the commitment is not known, and so not valid.
pub fn blockhash_validity(
    snapshot: &Snapshot<'_>,
    blockhash: &[u8; 32],
    commitment: Commitment,
    out: &mut Vec<u8>,
) -> Result<()> {
    let newest = commitment.block(snapshot)?;
    let found = snapshot.block_of_hash(blockhash, &newest, BLOCKHASH_AGE_MAX)?;
    push_context_of(newest.slot, out);
    out.extend_from_slice(if found.is_some() { b"true}" } else { b"false}" });
    Ok(())
}

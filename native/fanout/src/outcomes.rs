//! Outcomes of transactions that someone waits for, as JSON.

use std::collections::HashMap;

use primitives::Pubkey;
use store::{Snapshot, Tip};
use sys::error::Result;
use wire::account_json::push_u64;
use wire::reads::BLOCKHASH_AGE_MAX;

use crate::error_json::push_error;

/// Bytes of an [`AwaitedTransaction`]: signature ‖ blockhash ‖ nonce account ‖ big-endian slot.
pub const AWAITED_BYTES: usize = 136;
/// The most transactions of one call.
pub const AWAITED_MAX: usize = 1_024;
/// Blocks that are searched for a blockhash: all that a store keeps.
const HEIGHTS_SEARCHED: u64 = store::BLOCKS_KEPT;

/// Where an account of the System program has the value of its nonce: after the version, the state
/// and the authority.
const NONCE_VALUE: std::ops::Range<usize> = 40..72;

/// A transaction that may land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedTransaction {
    pub signature: [u8; 64],
    /// Of a durable nonce its value; `None` where it is not wanted.
    pub blockhash: Option<Pubkey>,
    /// The account of its durable nonce, if that is wanted.
    pub nonce: Option<Pubkey>,
    /// Slots before it need not be searched.
    pub since: u64,
}

impl AwaitedTransaction {
    /// Decodes transactions; a blockhash or a nonce account of zeros is none. `None` where the
    /// length is wrong, or there are too many.
    pub fn decode_all(bytes: &[u8]) -> Option<Vec<AwaitedTransaction>> {
        let (rows, rest) = bytes.as_chunks::<AWAITED_BYTES>();
        if rows.len() > AWAITED_MAX {
            return None;
        }
        let decoded = rows.iter().map(|row| {
            let (signature, row) = row.split_first_chunk()?;
            let (blockhash, row) = row.split_first_chunk::<32>()?;
            let (nonce, row) = row.split_first_chunk::<32>()?;
            Some(AwaitedTransaction {
                signature: *signature,
                blockhash: (*blockhash != [0; 32]).then_some(*blockhash),
                nonce: (*nonce != [0; 32]).then_some(*nonce),
                since: u64::from_be_bytes(*row.first_chunk()?),
            })
        });
        rest.is_empty().then(|| decoded.collect()).flatten()
    }
}

/// Appends `{"slot","blockHeight","finalized","knownAfter","transactions"}`: the tip, the newest
/// finalized block if it is stored, the slot after which every outcome is known, and for each
/// transaction of which something is known, in order, `{"index","slot","position","error"}` where
/// it is in a block, or else `{"index","blockhashSlot","lastValidBlockHeight"}` where its blockhash
/// is known, or `{"index","nonceSlot","hasNonce"}` where the account of its nonce is stored: since
/// which slot it is as it is, and whether it has the transaction's value. `null` in an empty
/// store.
pub fn push_outcomes(
    snapshot: &Snapshot<'_>,
    awaited: &[AwaitedTransaction],
    out: &mut Vec<u8>,
) -> Result<()> {
    let (Some(tip), Some(known_after)) = (snapshot.tip(), snapshot.outcomes_after()?) else {
        out.extend_from_slice(b"null");
        return Ok(());
    };
    out.extend_from_slice(b"{\"slot\":");
    push_u64(out, tip.slot);
    out.extend_from_slice(b",\"blockHeight\":");
    push_u64(out, tip.block_height);
    if tip.root > 0
        && let Some(finalized) = snapshot.block(tip.root)?
    {
        out.extend_from_slice(b",\"finalized\":{\"slot\":");
        push_u64(out, finalized.slot);
        out.extend_from_slice(b",\"blockHeight\":");
        push_u64(out, finalized.block_height);
        out.push(b'}');
    }
    out.extend_from_slice(b",\"knownAfter\":");
    push_u64(out, known_after);
    out.extend_from_slice(b",\"transactions\":[");
    let start = out.len();
    let mut blockhashes = Blockhashes::default();
    for (index, transaction) in (0..).zip(awaited) {
        push_outcome(snapshot, (index, transaction), &mut blockhashes, out)?;
    }
    if out.len() > start {
        out.pop(); // The last comma.
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

/// The blocks that a blockhash is searched in, read once for all transactions of a call: anyone can
/// send as many as are awaited with blockhashes that no block has.
#[derive(Default)]
pub(crate) struct Blockhashes(Option<HashMap<Pubkey, Tip>>);

impl Blockhashes {
    pub fn find(&mut self, snapshot: &Snapshot<'_>, blockhash: &Pubkey) -> Result<Option<Tip>> {
        let blocks = match &mut self.0 {
            Some(blocks) => blocks,
            None => self.0.insert(read_blocks(snapshot)?),
        };
        Ok(blocks.get(blockhash).copied())
    }
}

fn read_blocks(snapshot: &Snapshot<'_>) -> Result<HashMap<Pubkey, Tip>> {
    let Some(tip) = snapshot.tip() else {
        return Ok(HashMap::new());
    };
    snapshot
        .blocks_down_from(tip, HEIGHTS_SEARCHED)?
        .map(|block| block.map(|block| (block.blockhash, block)))
        .collect()
}

fn push_index(index: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"index\":");
    push_u64(out, index);
}

/// Appends what is known of a transaction and a comma, or nothing.
fn push_outcome(
    snapshot: &Snapshot<'_>,
    (index, transaction): (u64, &AwaitedTransaction),
    blockhashes: &mut Blockhashes,
    out: &mut Vec<u8>,
) -> Result<()> {
    let AwaitedTransaction {
        signature,
        blockhash,
        nonce,
        since,
    } = transaction;
    if let Some(found) = snapshot.signature_since(signature, *since)? {
        push_index(index, out);
        out.extend_from_slice(b",\"slot\":");
        push_u64(out, found.slot);
        if let Some(position) = found.index {
            out.extend_from_slice(b",\"position\":");
            push_u64(out, u64::from(position));
        }
        out.extend_from_slice(b",\"error\":");
        push_error(out, found.error);
        out.extend_from_slice(b"},");
        return Ok(());
    }
    if let (Some(account), Some(value)) = (nonce, blockhash) {
        return push_nonce(snapshot, index, (account, value), out);
    }
    let block = match blockhash {
        Some(blockhash) => blockhashes.find(snapshot, blockhash)?,
        None => None,
    };
    if let Some(block) = block {
        push_index(index, out);
        out.extend_from_slice(b",\"blockhashSlot\":");
        push_u64(out, block.slot);
        out.extend_from_slice(b",\"lastValidBlockHeight\":");
        push_u64(out, block.block_height.saturating_add(BLOCKHASH_AGE_MAX));
        out.extend_from_slice(b"},");
    }
    Ok(())
}

/// Appends what is known of a durable nonce and a comma, or nothing.
fn push_nonce(
    snapshot: &Snapshot<'_>,
    index: u64,
    (account, value): (&Pubkey, &Pubkey),
    out: &mut Vec<u8>,
) -> Result<()> {
    let Some(stored) = snapshot.account(account)? else {
        return Ok(());
    };
    let has_nonce = *stored.owner == [0; 32] && stored.data.get(NONCE_VALUE) == Some(&value[..]);
    push_index(index, out);
    out.extend_from_slice(b",\"nonceSlot\":");
    push_u64(out, stored.slot);
    out.extend_from_slice(if has_nonce {
        b",\"hasNonce\":true},"
    } else {
        b",\"hasNonce\":false},"
    });
    Ok(())
}

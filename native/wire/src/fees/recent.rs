//! getRecentPrioritizationFees by Agave's rule, and by Triton's with a percentile.

use primitives::Pubkey;
use store::{BlockFees, Snapshot};
use sys::error::Result;

use super::window::{Block, FeeWindow, Priced, Span};
use crate::account_json::push_u64;

/// Ten thousandths of the highest percentile.
const PERCENTILE_MAX: usize = 10_000;

/// `[{"slot":…,"prioritizationFee":…}]` in ascending order of slots, of blocks with a transaction
/// that is no vote; failed ones count. The fee is the lowest price of the block or, if that is
/// higher, the highest of the lowest prices among transactions that lock one of the accounts. With
/// `percentile`, in ten thousandths, it is that percentile in place of the lowest price.
pub fn recent_prioritization_fees(
    snapshot: &Snapshot<'_>,
    window: &FeeWindow,
    accounts: &[Pubkey],
    percentile: Option<u32>,
    span: Span,
    out: &mut Vec<u8>,
) -> Result<()> {
    let counts = |block: &Block| block.priced.iter().any(|priced| !priced.is_vote);
    let blocks = window.blocks(snapshot, span, counts)?;
    let mut prices = Vec::new();
    out.push(b'[');
    for (index, block) in blocks.iter().rev().enumerate() {
        let mut fee = fee_of(block.priced.iter(), percentile, &mut prices);
        for account in accounts {
            let locking = block.locking(BlockFees::key_of(account));
            fee = fee.max(fee_of(locking, percentile, &mut prices));
        }
        out.extend_from_slice(if index > 0 { b",{" } else { b"{" });
        out.extend_from_slice(b"\"slot\":");
        push_u64(out, block.slot);
        out.extend_from_slice(b",\"prioritizationFee\":");
        push_u64(out, fee);
        out.push(b'}');
    }
    out.push(b']');
    Ok(())
}

/// 0 of no transactions. The price at a percentile is the one after that share of the others, as in
/// the open implementation of the option.
fn fee_of<'p>(
    priced: impl Iterator<Item = &'p Priced>,
    percentile: Option<u32>,
    prices: &mut Vec<u64>,
) -> u64 {
    let counted = priced.filter(|priced| !priced.is_vote);
    let counted = counted.map(|priced| priced.price);
    let Some(percentile) = percentile else {
        return counted.min().unwrap_or(0);
    };
    prices.clear();
    prices.extend(counted);
    let share = (percentile as usize).min(PERCENTILE_MAX - 1);
    let index = share * prices.len() / PERCENTILE_MAX;
    if index >= prices.len() {
        return 0;
    }
    *prices.select_nth_unstable(index).1
}

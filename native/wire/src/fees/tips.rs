//! getTipPercentiles: what groups of tip accounts gained by landed transactions.

use store::{BlockFees, FeeKey, Snapshot};
use sys::error::Result;

use super::window::{FeeWindow, Span};
use crate::account_json::{push_str, push_u64};
use crate::reads::push_context;

/// Percentiles that are answered.
const PERCENTILES: [u64; 5] = [25, 50, 75, 95, 99];

/// Accounts whose gains by one transaction are one tip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TipGroup {
    pub name: String,
    pub accounts: Vec<[u8; 32]>,
}

/// `{"context":{"slot":…},"value":[{"group":…,"accounts":…,"count":…,"blocks":…,"firstSlot":…,
/// "lastSlot":…,"tipLamports":{"p25":…}}]}`. A tip is the sum of what the accounts of a group
/// gained by one transaction that succeeded; a transaction that tips two groups counts in both. A
/// percentile is the tip of the nearest rank; `null` without tips.
pub fn tip_percentiles(
    snapshot: &Snapshot<'_>,
    window: &FeeWindow,
    groups: &[TipGroup],
    span: Span,
    out: &mut Vec<u8>,
) -> Result<()> {
    let blocks = window.blocks(snapshot, span, |_| true)?;
    let slot = |block: Option<&std::sync::Arc<super::window::Block>>| {
        block.map_or(snapshot.slot(), |block| block.slot)
    };
    let (first, last) = (slot(blocks.last()), slot(blocks.first()));
    push_context(snapshot, out)?;
    out.push(b'[');
    for (index, group) in groups.iter().enumerate() {
        let mut keys: Vec<FeeKey> = group.accounts.iter().map(BlockFees::key_of).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut tips: Vec<u64> = Vec::new();
        let mut of_block: Vec<(u32, u64)> = Vec::new();
        for block in &blocks {
            of_block.clear();
            of_block.extend(keys.iter().flat_map(|key| block.gains(*key)));
            of_block.sort_unstable();
            let transactions = of_block.chunk_by(|a, b| a.0 == b.0);
            let sum = |gains: &[(u32, u64)]| {
                let lamports = gains.iter().map(|(_, lamports)| *lamports);
                lamports.fold(0, u64::saturating_add)
            };
            tips.extend(transactions.map(sum));
        }
        tips.sort_unstable();
        out.extend_from_slice(if index > 0 { b",{" } else { b"{" });
        out.extend_from_slice(b"\"group\":");
        push_str(out, &group.name);
        for (name, number) in [
            ("accounts", keys.len() as u64),
            ("count", tips.len() as u64),
            ("blocks", blocks.len() as u64),
            ("firstSlot", first),
            ("lastSlot", last),
        ] {
            push_member(out, name, number);
        }
        out.extend_from_slice(b",\"tipLamports\":");
        push_percentiles(out, &tips);
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

fn push_member(out: &mut Vec<u8>, name: &str, number: u64) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    push_u64(out, number);
}

/// Of sorted tips.
fn push_percentiles(out: &mut Vec<u8>, tips: &[u64]) {
    if tips.is_empty() {
        out.extend_from_slice(b"null");
        return;
    }
    for (index, percentile) in PERCENTILES.into_iter().enumerate() {
        let rank = (percentile * tips.len() as u64).div_ceil(100).max(1);
        out.extend_from_slice(if index > 0 { b",\"p" } else { b"{\"p" });
        push_u64(out, percentile);
        out.extend_from_slice(b"\":");
        push_u64(out, tips.get(rank as usize - 1).copied().unwrap_or(0));
    }
    out.push(b'}');
}

//! getPriorityFeeEstimate by the second algorithm of Helius' open estimator.

use primitives::Pubkey;
use primitives::encoding::push_pubkey;
use store::{BlockFees, Snapshot};
use sys::error::Result;

use crate::account_json::{push_f64, push_u64};
use crate::reads::push_context;

use super::window::{Block, FeeWindow, Priced, Span};

/// Names of the levels, and their percentiles.
const LEVELS: [(&str, f64); 6] = [
    ("min", 0.0),
    ("low", 25.0),
    ("medium", 50.0),
    ("high", 75.0),
    ("veryHigh", 95.0),
    ("unsafeMax", 100.0),
];
const MEDIUM: usize = 2;
/// The lowest price that is recommended, in micro-lamports per compute unit.
const RECOMMENDED_MIN: f64 = 10_000.0;
/// Bytes of an address lookup table before its addresses.
const TABLE_HEAD_BYTES: usize = 56;

/// What of the levels is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The one at this position, from `min` to `unsafeMax`.
    One(usize),
    /// The medium, rounded up and at least 10,000.
    Recommended,
    All,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    pub accounts: Vec<Pubkey>,
    pub level: Level,
    pub span: Span,
    pub includes_votes: bool,
    /// A block without a transaction that locks the account counts as a price of 0 for it.
    pub empty_is_zero: bool,
    pub has_details: bool,
    /// Whether the estimate is the value at a context.
    pub has_context: bool,
}

/// `{"priorityFeeEstimate":…}` or `{"priorityFeeLevels":{…}}`, in micro-lamports per compute unit.
/// A level is the highest of the percentiles of all transactions and of those that lock each
/// account; failed ones do not count. Percentiles are interpolated. With details,
/// `priorityFeeEstimateDetails` has the distribution of each.
/// With a context, it is the value of `{"context":{"slot":…},"value":…}`.
pub fn priority_fee_estimate(
    snapshot: &Snapshot<'_>,
    window: &FeeWindow,
    estimate: &Estimate,
    out: &mut Vec<u8>,
) -> Result<()> {
    let is_counted =
        |priced: &&Priced| !priced.has_failed && (estimate.includes_votes || !priced.is_vote);
    let counts = |block: &Block| block.priced.iter().any(|priced| is_counted(&priced));
    let blocks = window.blocks(snapshot, estimate.span, counts)?;
    let mut prices = Vec::new();
    for block in &blocks {
        let counted = block.priced.iter().filter(is_counted);
        prices.extend(counted.map(|priced| priced.price));
    }
    let mut levels = levels_of(&mut prices);
    let mut details = vec![(None, levels, moments_of(&prices))];
    let mut accounts = estimate.accounts.clone();
    accounts.sort_unstable();
    accounts.dedup();
    for account in &accounts {
        prices.clear();
        for block in &blocks {
            let before = prices.len();
            let locking = block.locking(BlockFees::key_of(account));
            prices.extend(locking.filter(is_counted).map(|priced| priced.price));
            if estimate.empty_is_zero && prices.len() == before {
                prices.push(0);
            }
        }
        let of_account = levels_of(&mut prices);
        for (level, of_account) in levels.iter_mut().zip(of_account) {
            *level = level.max(of_account);
        }
        if estimate.has_details {
            details.push((Some(account), of_account, moments_of(&prices)));
        }
    }
    if estimate.has_context {
        push_context(snapshot, out)?;
    }
    out.push(b'{');
    match estimate.level {
        Level::All => {
            out.extend_from_slice(b"\"priorityFeeLevels\":");
            push_levels(out, &levels);
        }
        Level::One(index) => {
            push_estimate(out, levels.get(index).copied().unwrap_or_default());
        }
        Level::Recommended => {
            let medium = levels.get(MEDIUM).copied().unwrap_or_default();
            push_estimate(out, medium.max(RECOMMENDED_MIN).ceil());
        }
    }
    if estimate.has_details {
        push_details(out, &details);
    }
    out.push(b'}');
    if estimate.has_context {
        out.push(b'}');
    }
    Ok(())
}

type Distribution<'a> = (Option<&'a Pubkey>, [f64; 6], Moments);

fn push_details(out: &mut Vec<u8>, details: &[Distribution<'_>]) {
    out.extend_from_slice(b",\"priorityFeeEstimateDetails\":[");
    for (index, (account, levels, moments)) in details.iter().enumerate() {
        out.extend_from_slice(if index > 0 { b",[\"" } else { b"[\"" });
        match account {
            Some(account) => push_pubkey(out, account),
            None => out.extend_from_slice(b"Global"),
        }
        out.extend_from_slice(b"\",{\"estimates\":");
        push_levels(out, levels);
        push_moments(out, moments);
        out.extend_from_slice(b"}]");
    }
    out.push(b']');
}

/// The addresses at these positions of a lookup table; none where the store has no such table.
pub fn writable_of_table(
    snapshot: &Snapshot<'_>,
    table: &Pubkey,
    positions: &[u8],
) -> Result<Vec<Pubkey>> {
    let table = snapshot.account(table)?;
    let data = table.map_or(&[][..], |table| table.data);
    let (addresses, _) = data
        .get(TABLE_HEAD_BYTES..)
        .unwrap_or_default()
        .as_chunks::<32>();
    let found = |position: &u8| addresses.get(usize::from(*position)).copied();
    Ok(positions.iter().filter_map(found).collect())
}

/// Sorts the prices. Each level is 0 of no prices.
fn levels_of(prices: &mut [u64]) -> [f64; 6] {
    prices.sort_unstable();
    LEVELS.map(|(_, percentile)| {
        let Some(last) = prices.len().checked_sub(1) else {
            return 0.0;
        };
        let rank = percentile / 100.0 * last as f64;
        let at = |index: usize| {
            prices
                .get(index.min(last))
                .map_or(0.0, |price| *price as f64)
        };
        let below = rank.trunc() as usize;
        at(below) + rank.fract() * (at(below + 1) - at(below))
    })
}

/// Of a distribution.
struct Moments {
    mean: f64,
    /// Of the population.
    stdev: f64,
    skew: f64,
    count: usize,
}

fn moments_of(prices: &[u64]) -> Moments {
    let count = prices.len();
    let number = count.max(1) as f64;
    let mean = prices.iter().map(|price| *price as f64).sum::<f64>() / number;
    let central = |power: i32| {
        let powers = prices
            .iter()
            .map(|price| (*price as f64 - mean).powi(power));
        powers.sum::<f64>() / number
    };
    let stdev = central(2).sqrt();
    let skew = if stdev > 0.0 {
        central(3) / stdev.powi(3)
    } else {
        0.0
    };
    Moments {
        mean,
        stdev,
        skew,
        count,
    }
}

fn push_estimate(out: &mut Vec<u8>, price: f64) {
    push_number(out, "\"priorityFeeEstimate\":", price);
}

fn push_levels(out: &mut Vec<u8>, levels: &[f64; 6]) {
    let names = LEVELS.iter().map(|(name, _)| *name);
    for (index, (name, level)) in names.zip(levels).enumerate() {
        out.push(if index > 0 { b',' } else { b'{' });
        push_number(out, &format!("\"{name}\":"), *level);
    }
    out.push(b'}');
}

fn push_moments(out: &mut Vec<u8>, moments: &Moments) {
    push_number(out, ",\"mean\":", moments.mean);
    push_number(out, ",\"stdev\":", moments.stdev);
    push_number(out, ",\"skew\":", moments.skew);
    out.extend_from_slice(b",\"count\":");
    push_u64(out, moments.count as u64);
}

/// Every number here is finite: prices have 64 bits.
fn push_number(out: &mut Vec<u8>, name: &str, number: f64) {
    out.extend_from_slice(name.as_bytes());
    push_f64(out, number);
}

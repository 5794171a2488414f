//! Chooses the index that a program page reads. Every record is tested again, so the choice affects
//! only speed.

use std::ops::Bound;

use crate::indexes::programs;
use crate::pages::query::{Filter, ProgramQuery};
use crate::rows::keys;
use crate::snapshot::Snapshot;
use crate::tables::Db;
use primitives::Pubkey;
use primitives::token::TokenProgram;
use sys::error::Result;

/// Index rows counted at most; the length of a longer run is estimated.
const PROBE_ROWS: u64 = 1024;
/// The cost of an index row, which includes a record look-up, in rows of a walk over `accounts`.
const INDEX_ROW_COST: u64 = 6;
/// The cost of a row of `changed`, which is first collected and sorted.
const CHANGED_ROW_COST: u64 = 7;

/// How a page finds its candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanPlan {
    /// Nothing can match.
    Nothing,
    ByDiscriminator([u8; 8]),
    ByMint(TokenProgram, Pubkey),
    ByTokenOwner(TokenProgram, Pubkey),
    /// Collect the changed pubkeys, then sort them.
    Changed {
        since: u64,
    },
    ByProgram,
    /// Every account of the store in order: for a program that owns a large share of the store,
    /// where a sequential cursor is faster than one look-up per row.
    Walk,
}

/// A run of index keys that share a prefix and end in a pubkey.
pub(crate) struct Run {
    pub table: Db,
    pub prefix: Vec<u8>,
}

impl Run {
    /// The range of the keys after a pubkey, exclusive.
    pub fn bounds(&self, after: Option<&Pubkey>) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let end = Bound::Included([&self.prefix, &[0xFF; 32][..]].concat());
        match after {
            Some(pubkey) => (Bound::Excluded([&self.prefix, &pubkey[..]].concat()), end),
            None => (Bound::Included(self.prefix.clone()), end),
        }
    }
}

impl Snapshot<'_> {
    /// The plan that [`Snapshot::program_page`] uses: the one that would finish first if no row
    /// matched.
    pub fn plan(&self, query: &ProgramQuery) -> Result<ScanPlan> {
        let program = programs::read(self.tables(), &self.txn, &query.program)?;
        if program.accounts == 0 || query.limit == 0 {
            return Ok(ScanPlan::Nothing);
        }
        let walk = self.tables().accounts.len(&self.txn)?;
        let through = program.accounts.saturating_mul(INDEX_ROW_COST);
        let (mut best, mut cost) = if through < walk {
            (ScanPlan::ByProgram, through)
        } else {
            (ScanPlan::Walk, walk)
        };
        let filtered = candidates(query);
        // For a small program a single index is never worse than reading all its accounts, so
        // counting would only add cost.
        let is_contest =
            filtered.len() > 1 || query.changed_since.is_some() || best == ScanPlan::Walk;
        for plan in filtered {
            let Some(run) = self.run_of(query, &plan) else {
                continue;
            };
            let rows = if is_contest {
                self.estimate(&run, query.after.as_ref())?
            } else {
                0
            };
            if rows.saturating_mul(INDEX_ROW_COST) < cost {
                (best, cost) = (plan, rows.saturating_mul(INDEX_ROW_COST));
            }
        }
        if let Some(since) = query.changed_since
            && self.store.options.changed.covers(&query.program)
            && since >= program.changed_floor
        {
            let rows_max = cost.div_ceil(CHANGED_ROW_COST);
            if self.count(
                &self.tables().changed,
                &changed_bounds(query, since),
                rows_max,
            )? < rows_max
            {
                best = ScanPlan::Changed { since };
            }
        }
        Ok(best)
    }

    /// The number of rows of a run: counted up to [`PROBE_ROWS`], then estimated from the density
    /// of the counted rows, because pubkeys are evenly distributed.
    fn estimate(&self, run: &Run, after: Option<&Pubkey>) -> Result<u64> {
        let (mut count, mut last) = (0, [0; 32]);
        for row in run
            .table
            .range(&self.txn, &as_slices(&run.bounds(after)))?
            .take(PROBE_ROWS as usize)
        {
            let (key, _) = row?;
            count += 1;
            last = keys::pubkey_of(key).copied().unwrap_or_default();
        }
        if count < PROBE_ROWS {
            return Ok(count);
        }
        let spread = key_position(&last) - after.map_or(0, key_position).min(key_position(&last));
        Ok(u64::try_from((u128::from(count) << 63) / u128::from(spread + 1)).unwrap_or(u64::MAX))
    }

    /// The run of index keys of a plan, if it has one.
    pub(crate) fn run_of(&self, query: &ProgramQuery, plan: &ScanPlan) -> Option<Run> {
        let tables = self.tables();
        let (table, prefix) = match plan {
            ScanPlan::ByDiscriminator(first) => (
                tables.by_discriminator,
                [&query.program[..], first].concat(),
            ),
            ScanPlan::ByMint(program, mint) => {
                (tables.by_mint, [&[program.tag()], &mint[..]].concat())
            }
            ScanPlan::ByTokenOwner(program, wallet) => (
                tables.by_token_owner,
                [&wallet[..], &[program.tag()]].concat(),
            ),
            ScanPlan::ByProgram => (tables.by_program, query.program.to_vec()),
            ScanPlan::Nothing | ScanPlan::Changed { .. } | ScanPlan::Walk => return None,
        };
        Some(Run { table, prefix })
    }

    fn count(
        &self,
        table: &Db,
        bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>),
        max: u64,
    ) -> Result<u64> {
        let mut count = 0;
        for row in table.range(&self.txn, &as_slices(bounds))? {
            if count == max {
                break;
            }
            row?;
            count += 1;
        }
        Ok(count)
    }
}

/// The position of a pubkey in the key space, from its first bytes.
fn key_position(pubkey: &Pubkey) -> u64 {
    pubkey
        .first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes) >> 1)
}

/// The rows of `changed` of a program after a slot, exclusive.
pub(crate) fn changed_bounds(query: &ProgramQuery, since: u64) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let first = keys::changed(&query.program, since, &[0xFF; 32]);
    let last = keys::changed(&query.program, u64::MAX, &[0xFF; 32]);
    (
        Bound::Excluded(first.to_vec()),
        Bound::Included(last.to_vec()),
    )
}

/// Converts bounds to the range type of `heed`.
pub(crate) fn as_slices(bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> (Bound<&[u8]>, Bound<&[u8]>) {
    fn one(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
        bound.as_ref().map(|key| &key[..])
    }
    (one(&bounds.0), one(&bounds.1))
}

/// The indexes usable for a query's filters, the usually narrower ones first.
pub(crate) fn candidates(query: &ProgramQuery) -> Vec<ScanPlan> {
    let memcmps = || {
        query.filters.iter().filter_map(|filter| match filter {
            Filter::Memcmp { offset, bytes } => Some((*offset, &bytes[..])),
            Filter::DataSize(_) => None,
        })
    };
    let at = |wanted: u64| {
        memcmps()
            .filter(move |(offset, _)| *offset == wanted)
            .map(|(_, bytes)| bytes)
    };
    match TokenProgram::of(&query.program) {
        Some(program) => {
            let wallet = at(32).find_map(|bytes| bytes.first_chunk());
            let mint = at(0).find_map(|bytes| bytes.first_chunk());
            let by_wallet = wallet.map(|wallet| ScanPlan::ByTokenOwner(program, *wallet));
            by_wallet
                .into_iter()
                .chain(mint.map(|mint| ScanPlan::ByMint(program, *mint)))
                .collect()
        }
        None => {
            let first = at(0).find_map(|bytes| bytes.first_chunk());
            first
                .map(|first| ScanPlan::ByDiscriminator(*first))
                .into_iter()
                .collect()
        }
    }
}

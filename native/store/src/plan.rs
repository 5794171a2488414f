//! Which index a program page goes through. Whatever is chosen, each record is tested again, so the
//! choice is about time only.

use std::ops::Bound;

use super::keys;
use super::programs;
use super::query::{Filter, ProgramQuery};
use super::snapshot::Snapshot;
use super::tables::Db;
use primitives::Pubkey;
use primitives::token::TokenProgram;
use sys::error::Result;

/// Rows of an index that are counted; of a longer run the rest is estimated.
const PROBE_ROWS: u64 = 1024;
/// What a row costs through an index, which looks its record up, in rows of a walk over `accounts`.
const INDEX_ROW_COST: u64 = 6;
/// The same for a row of `changed`, which is gathered and sorted before.
const CHANGED_ROW_COST: u64 = 7;

/// The way to a page's candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanPlan {
    /// Nothing can match.
    Nothing,
    ByDiscriminator([u8; 8]),
    ByMint(TokenProgram, Pubkey),
    ByTokenOwner(TokenProgram, Pubkey),
    /// Gather the changed pubkeys, then sort them.
    Changed {
        since: u64,
    },
    ByProgram,
    /// Every account of the store in order: for a program that owns a large share of it, where a
    /// cursor over neighbours beats one look-up per row.
    Walk,
}

/// A run of index keys that begin alike and end in a pubkey.
pub(super) struct Run {
    pub table: Db,
    pub prefix: Vec<u8>,
}

impl Run {
    /// The keys strictly after a pubkey, as the bounds of a range.
    pub fn bounds(&self, after: Option<&Pubkey>) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let end = Bound::Included([&self.prefix, &[0xFF; 32][..]].concat());
        match after {
            Some(pubkey) => (Bound::Excluded([&self.prefix, &pubkey[..]].concat()), end),
            None => (Bound::Included(self.prefix.clone()), end),
        }
    }
}

impl Snapshot<'_> {
    /// The plan that [`Snapshot::program_page`] follows: the one that would be done first if no row
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
        // One index of a small program is never worse than all of the program: counting would only
        // cost.
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

    /// How many rows a run has: counted as far as [`PROBE_ROWS`], and beyond that taken from how
    /// densely those lie, because pubkeys are spread evenly.
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
        let spread = place(&last) - after.map_or(0, place).min(place(&last));
        Ok(u64::try_from((u128::from(count) << 63) / u128::from(spread + 1)).unwrap_or(u64::MAX))
    }

    /// The index keys of a plan that has a run of them.
    pub(super) fn run_of(&self, query: &ProgramQuery, plan: &ScanPlan) -> Option<Run> {
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

/// Where a pubkey lies among all, by its first bytes.
fn place(pubkey: &Pubkey) -> u64 {
    pubkey
        .first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes) >> 1)
}

/// The rows of `changed` of a program that lie strictly after a slot.
pub(super) fn changed_bounds(query: &ProgramQuery, since: u64) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let first = keys::changed(&query.program, since, &[0xFF; 32]);
    let last = keys::changed(&query.program, u64::MAX, &[0xFF; 32]);
    (
        Bound::Excluded(first.to_vec()),
        Bound::Included(last.to_vec()),
    )
}

/// What `heed` takes as a range.
pub(super) fn as_slices(bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> (Bound<&[u8]>, Bound<&[u8]>) {
    fn one(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
        bound.as_ref().map(|key| &key[..])
    }
    (one(&bounds.0), one(&bounds.1))
}

/// The indexes that a query's filters open, the usually narrower first.
pub(super) fn candidates(query: &ProgramQuery) -> Vec<ScanPlan> {
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

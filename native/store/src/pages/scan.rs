//! Pages: accounts of a program, token accounts of a wallet. Always in ascending order of pubkey
//! bytes; every record is tested against the query.

use std::iter::Peekable;
use std::ops::Bound;

use crate::pages::plan::{Run, ScanPlan, as_slices, changed_bounds};
use crate::pages::query::{Budget, OwnerFilter, OwnerQuery, PageEnd, ProgramQuery};
use crate::rows::keys;
use crate::rows::record::{AccountRef, HEAD_BYTES, OWNER_AT, decode};
use crate::snapshot::Snapshot;
use primitives::Pubkey;
use primitives::token::{self, TokenProgram};
use sys::error::Result;

/// Rows of a walk that are prefetched before the first of them is tested.
const ROWS_AHEAD: usize = 16;

/// Receives the rows of a page; an error ends the page.
pub type Visit<'v> = dyn FnMut(&Pubkey, AccountRef<'_>) -> Result<()> + 'v;

/// Counts the rows of a page and remembers the last.
struct Page<'v, 'f> {
    visit: &'v mut Visit<'f>,
    limit: usize,
    count: usize,
    last: Option<Pubkey>,
}

impl<'v, 'f> Page<'v, 'f> {
    fn new(limit: usize, visit: &'v mut Visit<'f>) -> Self {
        Page {
            visit,
            limit,
            count: 0,
            last: None,
        }
    }

    /// Visits a row. Returns whether the page is full.
    fn push(&mut self, pubkey: &Pubkey, account: AccountRef<'_>) -> Result<bool> {
        (self.visit)(pubkey, account)?;
        self.count += 1;
        if self.count == self.limit {
            self.last = Some(*pubkey);
        }
        Ok(self.count == self.limit)
    }

    fn end(self) -> PageEnd {
        PageEnd {
            count: self.count,
            last: self.last,
        }
    }
}

impl Snapshot<'_> {
    /// Visits a page of a program's accounts.
    pub fn program_page(
        &self,
        query: &ProgramQuery,
        budget: &mut Budget,
        visit: &mut Visit<'_>,
    ) -> Result<PageEnd> {
        let plan = self.plan(query)?;
        self.program_page_by(&plan, query, budget, visit)
    }

    /// The same with a given plan, which must be valid for the query.
    pub(crate) fn program_page_by(
        &self,
        plan: &ScanPlan,
        query: &ProgramQuery,
        budget: &mut Budget,
        visit: &mut Visit<'_>,
    ) -> Result<PageEnd> {
        let mut page = Page::new(query.limit, visit);
        match plan {
            ScanPlan::Nothing => {}
            ScanPlan::Walk => self.walk(query, budget, &mut page)?,
            ScanPlan::Changed { since } => self.changed(query, *since, budget, &mut page)?,
            _ => {
                if let Some(run) = self.run_of(query, plan) {
                    self.through(&run, query, budget, &mut page)?;
                }
            }
        }
        Ok(page.end())
    }

    fn walk(
        &self,
        query: &ProgramQuery,
        budget: &mut Budget,
        page: &mut Page<'_, '_>,
    ) -> Result<()> {
        let start = query
            .after
            .as_ref()
            .map_or(Bound::Unbounded, |after| Bound::Excluded(&after[..]));
        let mut rows = self
            .tables()
            .accounts
            .range(&self.txn, &(start, Bound::Unbounded))?;
        let looked_at = query.first_bytes_looked_at();
        let mut ahead: [(&[u8], &[u8]); ROWS_AHEAD] = [(&[], &[]); ROWS_AHEAD];
        loop {
            // A walk is bound by memory latency, so it prefetches several rows before it tests the
            // first.
            let mut count = 0;
            for slot in &mut ahead {
                let Some(row) = rows.next().transpose()? else {
                    break;
                };
                prefetch(row.1, OWNER_AT);
                if let Some(at) = looked_at {
                    prefetch(row.1, HEAD_BYTES.saturating_add(at));
                }
                *slot = row;
                count += 1;
            }
            for (key, value) in ahead.iter().take(count) {
                budget.count()?;
                // Rejects rows of other programs.
                if value.get(OWNER_AT..HEAD_BYTES) != Some(&query.program) {
                    continue;
                }
                let account = decode(value)?;
                if let Some(pubkey) = keys::pubkey_of(key)
                    && query.matches(&account)
                    && page.push(pubkey, account)?
                {
                    return Ok(());
                }
            }
            if count < ROWS_AHEAD {
                return Ok(());
            }
        }
    }

    fn through(
        &self,
        run: &Run,
        query: &ProgramQuery,
        budget: &mut Budget,
        page: &mut Page<'_, '_>,
    ) -> Result<()> {
        let bounds = run.bounds(query.after.as_ref());
        let rows = run.table.range(&self.txn, &as_slices(&bounds))?;
        self.visit_keys(rows.filter_map(pubkey_of_row), query, budget, page)
    }

    /// Tests the accounts of keys in their order, until the page is full.
    fn visit_keys<'t>(
        &'t self,
        pubkeys: impl Iterator<Item = heed::Result<&'t Pubkey>>,
        query: &ProgramQuery,
        budget: &mut Budget,
        page: &mut Page<'_, '_>,
    ) -> Result<()> {
        for pubkey in pubkeys {
            let pubkey = pubkey?;
            budget.count()?;
            if let Some(account) = self.account(pubkey)?
                && query.matches(&account)
                && page.push(pubkey, account)?
            {
                break;
            }
        }
        Ok(())
    }

    fn changed(
        &self,
        query: &ProgramQuery,
        since: u64,
        budget: &mut Budget,
        page: &mut Page<'_, '_>,
    ) -> Result<()> {
        let mut pubkeys = Vec::new();
        for row in self
            .tables()
            .changed
            .range(&self.txn, &as_slices(&changed_bounds(query, since)))?
        {
            let (key, _) = row?;
            budget.count()?;
            pubkeys.extend(
                keys::pubkey_of(key).filter(|key| query.after.is_none_or(|after| **key > after)),
            );
        }
        pubkeys.sort_unstable();
        // An account has one row per write.
        pubkeys.dedup();
        self.visit_keys(pubkeys.iter().map(Ok), query, budget, page)
    }

    /// Visits a page of a wallet's initialised token accounts.
    pub fn owner_page(
        &self,
        query: &OwnerQuery,
        budget: &mut Budget,
        visit: &mut Visit<'_>,
    ) -> Result<PageEnd> {
        let mut page = Page::new(query.limit, visit);
        if query.limit == 0 {
            return Ok(page.end());
        }
        match query.filter {
            OwnerFilter::Program(program) => {
                let run = self.wallet_run(query, program);
                let bounds = run.bounds(query.after.as_ref());
                let rows = run.table.range(&self.txn, &as_slices(&bounds))?;
                for pubkey in rows.filter_map(pubkey_of_row) {
                    let pubkey = pubkey?;
                    budget.count()?;
                    if self.push_token_account(pubkey, &mut page)? {
                        break;
                    }
                }
            }
            OwnerFilter::Mint(mint) => self.owner_page_of_mint(query, &mint, budget, &mut page)?,
        }
        Ok(page.end())
    }

    /// Merges the runs of both token programs; rows of other mints are skipped without reading
    /// their records.
    fn owner_page_of_mint(
        &self,
        query: &OwnerQuery,
        mint: &Pubkey,
        budget: &mut Budget,
        page: &mut Page<'_, '_>,
    ) -> Result<()> {
        let runs = TokenProgram::ALL.map(|program| self.wallet_run(query, program));
        let bounds = [0, 1].map(|i: usize| runs[i].bounds(query.after.as_ref()));
        let mut left = runs[0]
            .table
            .range(&self.txn, &as_slices(&bounds[0]))?
            .peekable();
        let mut right = runs[1]
            .table
            .range(&self.txn, &as_slices(&bounds[1]))?
            .peekable();
        while let Some(row) = next_of_two(&mut left, &mut right) {
            let (key, value) = row?;
            budget.count()?;
            if value == mint
                && let Some(pubkey) = keys::pubkey_of(key)
                && self.push_token_account(pubkey, page)?
            {
                break;
            }
        }
        Ok(())
    }

    fn wallet_run(&self, query: &OwnerQuery, program: TokenProgram) -> Run {
        let prefix = [&query.wallet[..], &[program.tag()]].concat();
        Run {
            table: self.tables().by_token_owner,
            prefix,
        }
    }

    fn push_token_account(&self, pubkey: &Pubkey, page: &mut Page<'_, '_>) -> Result<bool> {
        match self.account(pubkey)? {
            Some(account) if token::is_account(account.data) => page.push(pubkey, account),
            _ => Ok(false),
        }
    }
}

/// Asks the processor for the cache line at `at`, which a later row is tested by; reads nothing.
#[inline]
fn prefetch(value: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if at < value.len() {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is valid for any address and has no effect visible to the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(value.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, at);
}

type Row<'t> = heed::Result<(&'t [u8], &'t [u8])>;

/// The pubkey at the end of an index key; an error stays an error.
fn pubkey_of_row<'t>(row: Row<'t>) -> Option<heed::Result<&'t Pubkey>> {
    row.map(|(key, _)| keys::pubkey_of(key)).transpose()
}

/// The row with the smaller pubkey; an error is returned immediately.
fn next_of_two<'t, I: Iterator<Item = Row<'t>>>(
    left: &mut Peekable<I>,
    right: &mut Peekable<I>,
) -> Option<Row<'t>> {
    let is_right = match (left.peek(), right.peek()) {
        (Some(Ok((a, _))), Some(Ok((b, _)))) => keys::pubkey_of(b) < keys::pubkey_of(a),
        (None, _) | (_, Some(Err(_))) => true,
        (Some(_), _) => false,
    };
    if is_right { right.next() } else { left.next() }
}

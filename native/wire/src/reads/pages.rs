//! getProgramAccountsV2 and getTokenAccountsByOwnerV2.

use std::time::Instant;

use super::common::{ReplySink, demand_complete, holds_mint, push_context, spill};
use crate::account_json::{AccountWriter, Mints, View, push_u64};
use primitives::Pubkey;
use primitives::encoding::push_pubkey;
use primitives::token::TokenProgram;
use store::{AccountRef, Budget, Filter, OwnerFilter, OwnerQuery, PageEnd, ProgramQuery, Snapshot};
use sys::error::{Error, Result};

/// Account data encoded between two checks of the clock: about 10 ms of zstd.
const BYTES_PER_LOOK: usize = 2 * 1024 * 1024;

/// How the rows of a page are written, and its maximum length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageView {
    pub view: View,
    /// Beyond it the read fails with [`Error::ReadBudget`]: no row is dropped.
    pub reply_bytes_max: usize,
}

/// getProgramAccountsV2: `{"accounts":[…],"count":…,"paginationKey":…}` without a context. On
/// failure the sink may hold a part of it.
pub fn program_accounts(
    snapshot: &Snapshot<'_>,
    query: &ProgramQuery,
    page: &PageView,
    budget: &mut Budget,
    sink: &mut dyn ReplySink,
) -> Result<()> {
    snapshot.tip().ok_or(Error::NoIndex)?;
    if !covers(snapshot, query) {
        return Err(Error::OutsideScope);
    }
    demand_complete(snapshot)?;
    let mut out = sink.chunk();
    push_page(snapshot, page, budget, &mut out, sink, |budget, visit| {
        snapshot.program_page(query, budget, visit)
    })?;
    sink.write(out)
}

/// getTokenAccountsByOwnerV2: the same page within `{"context":…,"value":…}`.
pub fn token_accounts_by_owner(
    snapshot: &Snapshot<'_>,
    query: &OwnerQuery,
    page: &PageView,
    budget: &mut Budget,
    sink: &mut dyn ReplySink,
) -> Result<()> {
    let is_covered = match query.filter {
        OwnerFilter::Mint(mint) => holds_mint(snapshot, &mint)?,
        OwnerFilter::Program(program) => snapshot.scope().covers_program(program.id()),
    };
    if !is_covered {
        return Err(Error::OutsideScope);
    }
    demand_complete(snapshot)?;
    let mut out = sink.chunk();
    push_context(snapshot, &mut out)?;
    push_page(snapshot, page, budget, &mut out, sink, |budget, visit| {
        snapshot.owner_page(query, budget, visit)
    })?;
    out.push(b'}');
    sink.write(out)
}

/// Whether the store has every account that could match: all of the program, or all of one mint.
fn covers(snapshot: &Snapshot<'_>, query: &ProgramQuery) -> bool {
    let is_covered_mint = |filter: &Filter| match filter {
        Filter::Memcmp { offset: 0, bytes } => bytes
            .first_chunk()
            .is_some_and(|mint: &Pubkey| snapshot.scope().covers_mint(mint)),
        _ => false,
    };
    snapshot.scope().covers_program(&query.program)
        || (TokenProgram::of(&query.program).is_some() && query.filters.iter().any(is_covered_mint))
}

type Visit<'v> = &'v mut dyn FnMut(&Pubkey, AccountRef<'_>) -> Result<()>;

/// Appends the page to `out`, which the sink takes whenever it is complete.
fn push_page(
    snapshot: &Snapshot<'_>,
    page: &PageView,
    budget: &mut Budget,
    out: &mut Vec<u8>,
    sink: &mut dyn ReplySink,
    scan: impl FnOnce(&mut Budget, Visit<'_>) -> Result<PageEnd>,
) -> Result<()> {
    let mut writer = AccountWriter::new(page.view, Mints::in_pages(snapshot));
    let deadline = budget.deadline();
    let bytes_max = out.len().saturating_add(page.reply_bytes_max);
    let mut next_look = BYTES_PER_LOOK;
    let mut spilled = 0;
    let mut is_first = true;
    out.extend_from_slice(b"{\"accounts\":[");
    let end = scan(budget, &mut |pubkey, account| {
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        out.extend_from_slice(b"{\"pubkey\":\"");
        push_pubkey(out, pubkey);
        out.extend_from_slice(b"\",\"account\":");
        writer.write(out, &account)?;
        out.push(b'}');
        // The scan limits rows; this limits bytes.
        let is_late = writer.read_bytes() >= next_look && {
            next_look = writer.read_bytes() + BYTES_PER_LOOK;
            Instant::now() >= deadline
        };
        if is_late || spilled + out.len() > bytes_max {
            return Err(Error::ReadBudget { scanned: 0 });
        }
        let bytes = out.len();
        spill(sink, out)?;
        spilled += bytes - out.len();
        Ok(())
    });
    let end = end.map_err(|error| match error {
        Error::ReadBudget { .. } => Error::ReadBudget {
            scanned: budget.scanned(),
        },
        other => other,
    })?;
    out.extend_from_slice(b"],\"count\":");
    push_u64(out, end.count as u64);
    out.extend_from_slice(b",\"paginationKey\":");
    match end.last {
        Some(last) => {
            out.push(b'"');
            push_pubkey(out, &last);
            out.push(b'"');
        }
        None => out.extend_from_slice(b"null"),
    }
    out.push(b'}');
    Ok(())
}

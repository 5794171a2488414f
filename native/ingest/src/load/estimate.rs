//! Estimates the size of a store without building it.

use std::collections::HashMap;

use super::latest::LatestVersion;
use super::sorted::{Loaded, Sorted};
use crate::progress::Progress;
use primitives::Pubkey;
use store::{self, CHANGED_ROWS_MAX};
use sys::error::Result;

/// Bytes of an LMDB page.
const PAGE_BYTES: u64 = 4096;
const PAGE_HEAD_BYTES: u64 = 16;
/// A row's header and its pointer in the page.
const NODE_BYTES: u64 = 8 + 2;
/// A longer row has its value in separate pages.
const NODE_BYTES_MAX: u64 = 2038;
/// The reference to such a value in the row.
const OVERFLOW_BYTES: u64 = 8;
/// An entry of `holders`, at most with a row for itself.
const HOLDER_BYTES: u64 = NODE_BYTES + 34 + 40;
/// A row of `changed`, or one of `programs` for the only account of a program.
const CHANGED_BYTES: u64 = NODE_BYTES + 72;
const PROGRAM_BYTES: u64 = NODE_BYTES + 32 + 24;
/// Programs that are counted separately. Bounds the memory of the count.
const PROGRAMS_MAX: usize = 100_000;
/// Percentage of space that is unused at page ends or used by branch pages.
const SLACK_PERCENT: u64 = 6;

/// Sums the size of the rows of all newest versions.
pub(super) fn estimate(sorted: &Sorted, progress: &Progress) -> Result<Loaded> {
    let mut loaded = Loaded::default();
    let mut changed = Changed::default();
    let (mut node_bytes, mut page_bytes, mut row_bytes) = (0, 0, 0);
    loaded.superseded = sorted
        .latest_versions(progress)?
        .visit(&mut |pubkey, _, latest| {
            let LatestVersion::Kept(record) = latest else {
                return Ok(());
            };
            let account = store::decode(record)?;
            loaded.count(&account);
            let length = record.len() as u64;
            if NODE_BYTES + 32 + length > NODE_BYTES_MAX {
                node_bytes += NODE_BYTES + 32 + OVERFLOW_BYTES;
                page_bytes += (PAGE_HEAD_BYTES + length).next_multiple_of(PAGE_BYTES);
            } else {
                node_bytes += (NODE_BYTES + 32 + length).next_multiple_of(2);
            }
            node_bytes += changed.bytes_for(account.owner);
            store::rows_of(pubkey, record, &mut |kind, _| {
                let bytes = kind.row_bytes() as u64;
                row_bytes += bytes;
                node_bytes += NODE_BYTES + bytes + HOLDER_BYTES * u64::from(kind.has_holders());
                Ok(())
            })
        })?;
    let in_pages = node_bytes * (100 + SLACK_PERCENT) / 100;
    loaded.file_bytes = page_bytes + in_pages.next_multiple_of(PAGE_BYTES) + FIXED_BYTES;
    loaded.run_bytes = sorted.counts.run_bytes + row_bytes;
    Ok(loaded)
}

/// Bytes that programs add to `changed` and `programs`.
#[derive(Default)]
struct Changed {
    accounts: HashMap<Pubkey, u64>,
}

impl Changed {
    /// Over the bound, each account counts as the first of its program.
    fn bytes_for(&mut self, owner: &Pubkey) -> u64 {
        if self.accounts.len() >= PROGRAMS_MAX && !self.accounts.contains_key(owner) {
            return CHANGED_BYTES + PROGRAM_BYTES;
        }
        let accounts = self.accounts.entry(*owner).or_default();
        *accounts += 1;
        match *accounts {
            1 => CHANGED_BYTES + PROGRAM_BYTES,
            2..=CHANGED_ROWS_MAX => CHANGED_BYTES,
            _ => 0,
        }
    }
}

/// Two meta pages, and one or two for each table.
const FIXED_BYTES: u64 = 64 * PAGE_BYTES;

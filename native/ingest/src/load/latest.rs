//! The newest version of each account.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use super::merge::{Layout, Merge, prefix_of};
use super::meter::Meter;
use super::record::{self, Kind};
use super::sorted::Sorted;
use crate::progress::Progress;
use primitives::Pubkey;
use primitives::token::TokenProgram;
use sys::error::{Error, Result};

impl Sorted {
    /// Iterates over the newest version of each account.
    pub fn latest_versions<'s>(&'s self, progress: &'s Progress) -> Result<LatestVersions<'s>> {
        let rows_before = progress.rows_total.load(Ordering::Relaxed);
        let rows = rows_before + self.counts.versions;
        progress.rows_total.store(rows, Ordering::Relaxed);
        LatestVersions::open(self, progress)
    }
}

/// The newest version of an account.
#[derive(Debug, Clone, Copy)]
pub(super) enum LatestVersion<'r> {
    /// Closed, or outside the scope.
    Gone,
    /// The store's record.
    Kept(&'r [u8]),
    /// A mint outside the scope that no kept account needs.
    OtherMint(&'r [u8]),
}

/// The newest version of each account, in ascending order of pubkeys.
pub(super) struct LatestVersions<'s> {
    merge: Merge,
    needed_mints: HashSet<(TokenProgram, Pubkey)>,
    meter: Meter<'s>,
}

impl<'s> LatestVersions<'s> {
    pub fn open(sorted: &Sorted, progress: &'s Progress) -> Result<LatestVersions<'s>> {
        let memory = sorted.options.sort_memory_bytes / 4;
        Ok(LatestVersions {
            merge: Merge::new(&sorted.file, &sorted.spans, Layout::Accounts, memory)?,
            needed_mints: sorted.filter.needed_mints(),
            meter: Meter::new(progress),
        })
    }

    /// Visits each version with its slot. Returns the number of superseded versions.
    pub fn visit(
        mut self,
        visit: &mut dyn FnMut(&Pubkey, u64, LatestVersion<'_>) -> Result<()>,
    ) -> Result<u64> {
        let (mut last, mut superseded) = (None, 0);
        while let Some(key) = self.merge.next_key()? {
            let (pubkey, version_order) = key.split_first_chunk().ok_or_else(short)?;
            let pubkey: Pubkey = *pubkey;
            let slot = !prefix_of(version_order);
            self.meter.row()?;
            if last.replace(pubkey) == Some(pubkey) {
                superseded += 1;
                continue;
            }
            let found = record::decode(self.merge.record()?)?;
            let latest = match found.kind {
                Kind::Gone => LatestVersion::Gone,
                Kind::Kept => LatestVersion::Kept(found.value),
                Kind::Mint => {
                    let program = TokenProgram::of(store::decode(found.value)?.owner);
                    match program {
                        Some(program) if self.needed_mints.contains(&(program, pubkey)) => {
                            LatestVersion::Kept(found.value)
                        }
                        _ => LatestVersion::OtherMint(found.value),
                    }
                }
            };
            visit(&pubkey, slot, latest)?;
        }
        Ok(superseded)
    }
}

fn short() -> Error {
    Error::Internal("a key of a sorted run is too short".to_string())
}

//! Builds a store from sorted runs.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::indexes::{self, IndexSorter};
use super::merge::{Layout, Merge, prefix_of};
use super::record::{self, Kind};
use super::{Base, Loaded, Progress, Sorted};
use primitives::Pubkey;
use primitives::token::TokenProgram;
use store::{self, Bulk, BulkTable, IndexKind, Newest, Options, Store};
use sys::error::{Error, Result};

/// Records between two checks for cancellation.
const CHECK_EVERY: u64 = 4096;

/// Counts rows for progress reports, and stops the work after cancellation.
pub(super) struct Meter<'p> {
    progress: &'p Progress,
    rows: u64,
}

impl<'p> Meter<'p> {
    pub fn new(progress: &'p Progress) -> Self {
        Meter { progress, rows: 0 }
    }

    #[inline]
    pub fn row(&mut self) -> Result<()> {
        self.rows += 1;
        if self.rows < CHECK_EVERY {
            return Ok(());
        }
        self.flush();
        self.progress.check()
    }

    fn flush(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.progress.rows_merged.fetch_add(rows, Ordering::Relaxed);
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.flush();
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

/// Builds the store in an empty folder. On return it is durable.
pub(super) fn build(
    sorted: &Sorted,
    dir: &Path,
    options: &Options,
    base: &Base,
    progress: &Progress,
) -> Result<Loaded> {
    let bulk = Bulk::create(dir, options)?;
    let mut out = bulk.writer(sorted.options.transaction_bytes);
    let mut loaded = Loaded::default();
    let mut rows = IndexSorter::start(&sorted.work_dir, &sorted.options)?;
    loaded.superseded = sorted
        .latest_versions(progress)?
        .visit(&mut |pubkey, _, latest| {
            let LatestVersion::Kept(record) = latest else {
                return Ok(());
            };
            loaded.count(&store::decode(record)?);
            out.append(BulkTable::Accounts, pubkey, record)?;
            store::rows_of(pubkey, record, &mut |kind, parts| rows.push(kind, parts))
        })?;
    let runs = rows.finish()?;
    loaded.run_bytes = sorted.counts.run_bytes + runs.bytes();
    progress
        .rows_total
        .fetch_add(runs.rows(), Ordering::Relaxed);
    let memory = sorted.options.sort_memory_bytes / 2;
    for kind in IndexKind::ALL {
        indexes::write(&runs, kind, &mut out, memory, progress)?;
    }
    out.commit()?;
    drop(out);
    loaded.file_bytes = bulk.finish(base)?;
    Ok(loaded)
}

/// Updates a copy of a store: writes the newer versions, and sets the tip to `base`.
pub(super) fn update(
    sorted: &Sorted,
    copy: &Store,
    from_slot: u64,
    base: &Base,
    progress: &Progress,
) -> Result<Loaded> {
    let mut catch_up = copy.catch_up(from_slot, base)?;
    let mut loaded = Loaded {
        run_bytes: sorted.counts.run_bytes,
        ..Loaded::default()
    };
    loaded.superseded = sorted
        .latest_versions(progress)?
        .visit(&mut |pubkey, slot, latest| {
            let newest = match latest {
                LatestVersion::Gone => Newest::Gone,
                LatestVersion::Kept(record) => Newest::Kept(record),
                LatestVersion::OtherMint(record) => Newest::OtherMint(record),
            };
            if catch_up.take(pubkey, slot, newest)?
                && let LatestVersion::Kept(record) | LatestVersion::OtherMint(record) = latest
            {
                loaded.accounts += 1;
                loaded.data_bytes += store::decode(record)?.data.len() as u64;
            }
            Ok(())
        })?;
    catch_up.finish(base)?;
    loaded.file_bytes = copy.stats()?.file_bytes;
    Ok(loaded)
}

//! Builds a store from sorted runs.

use std::path::Path;
use std::sync::atomic::Ordering;

use super::indexes::{self, IndexSorter};
use super::latest::LatestVersion;
use super::sorted::{Base, Loaded, Sorted};
use crate::progress::Progress;
use store::{self, Bulk, BulkTable, IndexKind, Newest, Options, Store};
use sys::error::Result;

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

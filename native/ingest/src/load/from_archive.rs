//! Loads a whole snapshot archive.

use std::sync::Arc;

use super::loader::Loader;
use crate::archive::{ArchiveEnd, ArchiveLimits, Source, SourceOptions, open_source, read_archive};
use crate::progress::Progress;
use store::AccountRef;
use sys::error::{Error, Result};

/// Pushes every account of an archive. Returns the base slot of an incremental archive, and a
/// summary of the archive.
pub fn load_archive(
    loader: &mut Loader,
    location: &str,
    order: u8,
    progress: &Arc<Progress>,
) -> Result<(Option<u64>, ArchiveEnd)> {
    let source = open_source(location, &SourceOptions::default(), progress)?;
    load_source(loader, source, order, &ArchiveLimits::default(), progress)
}

/// Like [`load_archive`], for an opened source with given limits.
pub fn load_source(
    loader: &mut Loader,
    source: Source,
    order: u8,
    limits: &ArchiveLimits,
    progress: &Arc<Progress>,
) -> Result<(Option<u64>, ArchiveEnd)> {
    let name = source.name;
    let end = read_archive(source.reader, limits, progress, &mut |entry| {
        let account = AccountRef {
            slot: entry.slot,
            lamports: entry.lamports,
            rent_epoch: entry.rent_epoch,
            executable: entry.executable,
            owner: entry.owner,
            data: entry.data,
        };
        loader.push(order, entry.pubkey, &account)
    })?;
    if end.manifest.slot != name.slot {
        return Err(Error::SnapshotInvalid(format!(
            "{name} holds slot {}",
            end.manifest.slot
        )));
    }
    loader.expect_lamports(end.manifest.capitalization);
    loader.expect_tip_in(end.manifest.recent_blockhashes.clone());
    Ok((name.base(), end))
}

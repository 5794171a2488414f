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
    let options = (&SourceOptions::default(), &ArchiveLimits::default());
    load_archive_with(loader, location, order, options, progress)
}

/// Like [`load_archive`], with given limits.
pub fn load_archive_with(
    loader: &mut Loader,
    location: &str,
    order: u8,
    (options, limits): (&SourceOptions, &ArchiveLimits),
    progress: &Arc<Progress>,
) -> Result<(Option<u64>, ArchiveEnd)> {
    if let Some(ended) = loader.ended_archive(order) {
        return Ok(ended);
    }
    loop {
        let source = open_source(location, options, progress)?;
        // Nothing is known after the first time.
        if let Some(ended) = load_source(loader, source, order, limits, progress)? {
            return Ok(ended);
        }
    }
}

/// Returns `None` if the archive is another one than that of which a process before this one has
/// sorted a part. The part is forgotten, and the archive has to be opened again.
fn load_source(
    loader: &mut Loader,
    source: Source,
    order: u8,
    limits: &ArchiveLimits,
    progress: &Progress,
) -> Result<Option<(Option<u64>, ArchiveEnd)>> {
    let name = source.name;
    let mut reading = loader.begin(order, &name)?;
    let mut is_same = true;
    let end = read_archive(source.reader, limits, progress, &mut |entry| {
        let account = AccountRef {
            slot: entry.slot,
            lamports: entry.lamports,
            rent_epoch: entry.rent_epoch,
            executable: entry.executable,
            owner: entry.owner,
            data: entry.data,
        };
        is_same = loader.read(&mut reading, entry.pubkey, &account)?;
        if is_same {
            return Ok(());
        }
        Err(Error::LoadFailed(format!("{name} has changed")))
    });
    if !is_same || (end.is_ok() && reading.is_before_end()) {
        loader.forget_part()?;
        return Ok(None);
    }
    let end = end?;
    if end.manifest.slot != name.slot {
        return Err(Error::SnapshotInvalid(format!(
            "{name} holds slot {}",
            end.manifest.slot
        )));
    }
    loader.end(order, name.base(), &end)?;
    Ok(Some((name.base(), end)))
}

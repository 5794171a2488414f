//! A whole snapshot archive into a load.

use std::sync::Arc;

use super::Loader;
use crate::bootstrap::archive::{
    ArchiveEnd, ArchiveLimits, SourceOptions, open_source, read_archive,
};
use crate::bootstrap::progress::Progress;
use crate::error::{Error, Result};
use crate::store::AccountRef;

/// Pushes every account of an archive. Answers the slot that an incremental one builds on, and what
/// the archive was.
pub fn load_archive(
    loader: &mut Loader,
    place: &str,
    order: u8,
    progress: &Arc<Progress>,
) -> Result<(Option<u64>, ArchiveEnd)> {
    let source = open_source(place, &SourceOptions::default(), progress)?;
    let name = source.name;
    let limits = ArchiveLimits::default();
    let end = read_archive(source.reader, &limits, progress, &mut |entry| {
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
    Ok((name.base(), end))
}

//! A whole snapshot archive into a load.

use std::fs::File;
use std::path::Path;

use super::Loader;
use crate::bootstrap::archive::{ArchiveEnd, ArchiveLimits, ArchiveName, read_archive};
use crate::bootstrap::progress::Progress;
use crate::error::{Error, Result};
use crate::store::AccountRef;

/// Pushes every account of an archive. Answers the slot that an incremental one builds on, and what
/// the archive was.
pub fn load_archive(
    loader: &mut Loader,
    place: &str,
    order: u8,
    progress: &Progress,
) -> Result<(Option<u64>, ArchiveEnd)> {
    let path = Path::new(place);
    let name = path.file_name().and_then(|name| name.to_str());
    let name = ArchiveName::parse(name.unwrap_or_default())?;
    let file = File::open(path)
        .map_err(|error| Error::SnapshotTransfer(format!("{place} cannot be read: {error}")))?;
    let limits = ArchiveLimits::default();
    let end = read_archive(file, &limits, progress, &mut |entry| {
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
    Ok((name.base(), end))
}

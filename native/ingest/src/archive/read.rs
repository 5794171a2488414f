//! Reads a whole archive.

use std::io::{self, Read};
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use super::append_vec::{Entry, StorageEnd, read_storage};
use super::decompress::decompress;
use super::limits::ArchiveLimits;
use super::manifest::Manifest;
use super::sparse::Filled;
use super::tar::{self, Member, Members, padding_of};
use super::window::Window;
use crate::progress::Progress;
use sys::error::{Error, Result};

/// The only version since 2020.
const VERSION: &[u8] = b"1.2.0";
/// Entries between two progress reports.
const REPORT_ENTRIES: u64 = 1 << 10;

/// Summary of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveEnd {
    pub manifest: Manifest,
    pub storages: u64,
    /// Stored accounts and tombstones, including repeated ones.
    pub entries: u64,
    /// Storages with a partial entry after their last account. More than a few indicate damage.
    pub cut_storages: u64,
    /// Size of the tar.
    pub unpacked_bytes: u64,
}

/// Counts compressed bytes, and fails after cancellation.
struct Watched<'a, R> {
    source: R,
    progress: &'a Progress,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.progress.check().map_err(io::Error::other)?;
        let count = self.source.read(out)?;
        self.progress
            .bytes_read
            .fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Streams an archive and passes every entry to `visit` in the order of the file. An error of
/// `visit` ends the reading. Memory is bounded by one account's data, whatever sizes the archive
/// claims.
pub fn read_archive(
    source: impl Read,
    limits: &ArchiveLimits,
    progress: &Progress,
    visit: &mut dyn FnMut(Entry<'_>) -> Result<()>,
) -> Result<ArchiveEnd> {
    let mut window = Window::new(decompress(Watched { source, progress })?);
    let mut members = Members::default();
    let mut seen = Seen::default();
    let mut unreported = 0;
    let mut counted = |entry: Entry<'_>| {
        unreported += 1;
        if unreported == REPORT_ENTRIES {
            progress
                .entries
                .fetch_add(REPORT_ENTRIES, Ordering::Relaxed);
            unreported = 0;
        }
        visit(entry)
    };
    while let Some(member) = members.next(&mut window, limits)? {
        let end = window.passed() + member.stored_bytes + padding_of(member.stored_bytes);
        seen.read_member(&mut window, &member, limits, &mut counted)?;
        window.skip(end.saturating_sub(window.passed()))?;
    }
    tar::drain(&mut window)?;
    progress.entries.fetch_add(unreported, Ordering::Relaxed);
    seen.finish(window.passed())
}

/// State from the members read so far.
#[derive(Default)]
struct Seen {
    has_version: bool,
    manifest: Option<Manifest>,
    newest_slot: u64,
    storages: u64,
    total: StorageEnd,
    cut_storages: u64,
}

/// The kind of a member, by its path.
enum Kind {
    Version,
    Manifest(u64),
    Storage(u64),
    Other,
}

fn kind_of(name: &str) -> Kind {
    let name = name.strip_prefix("./").unwrap_or(name);
    let mut parts = name.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("version"), None, ..) => Kind::Version,
        (Some("snapshots"), Some(folder), Some(file), None) if folder == file => {
            file.parse().map_or(Kind::Other, Kind::Manifest)
        }
        (Some("accounts"), Some(file), None, _) => {
            // `<slot>.<id>`; the id distinguishes storages of one slot.
            let parsed = file
                .split_once('.')
                .map(|(slot, id)| (slot.parse(), id.parse::<u64>()));
            match parsed {
                Some((Ok(slot), Ok(_))) => Kind::Storage(slot),
                _ => Kind::Other,
            }
        }
        _ => Kind::Other,
    }
}

impl Seen {
    fn read_member<R: Read>(
        &mut self,
        window: &mut Window<R>,
        member: &Member,
        limits: &ArchiveLimits,
        visit: &mut dyn FnMut(Entry<'_>) -> Result<()>,
    ) -> Result<()> {
        let kind = kind_of(&member.name);
        let Some(extents) = &member.extents else {
            return self.read_body(window, kind, member.bytes, limits, visit);
        };
        let filled = Filled {
            stored: window,
            extents,
            bytes: member.bytes,
            at: 0,
        };
        self.read_body(&mut Window::new(filled), kind, member.bytes, limits, visit)
    }

    fn read_body<R: Read>(
        &mut self,
        window: &mut Window<R>,
        kind: Kind,
        bytes: u64,
        limits: &ArchiveLimits,
        visit: &mut dyn FnMut(Entry<'_>) -> Result<()>,
    ) -> Result<()> {
        match kind {
            Kind::Version => self.read_version(window, bytes),
            Kind::Manifest(slot) => self.read_manifest(window, bytes, slot),
            Kind::Storage(slot) => {
                limits.check_storage(&format!("a storage of slot {slot}"), bytes)?;
                let end = read_storage(window, bytes, slot, limits, visit)?;
                self.newest_slot = self.newest_slot.max(slot);
                self.storages += 1;
                self.total.entries += end.entries;
                self.cut_storages += u64::from(end.is_cut);
                Ok(())
            }
            Kind::Other => Ok(()),
        }
    }

    fn read_version<R: Read>(&mut self, window: &mut Window<R>, bytes: u64) -> Result<()> {
        let text = window.take(bytes.min(16) as usize)?.trim_ascii();
        if bytes > 16 || text != VERSION {
            let text = String::from_utf8_lossy(text);
            let reason = format!("its version is {text:?}, and this build reads 1.2.0");
            return Err(Error::SnapshotInvalid(reason));
        }
        self.has_version = true;
        Ok(())
    }

    fn read_manifest<R: Read>(
        &mut self,
        window: &mut Window<R>,
        bytes: u64,
        slot: u64,
    ) -> Result<()> {
        let manifest = Manifest::read(window, bytes)?;
        if self.manifest.is_some() || manifest.slot != slot {
            return Err(Error::SnapshotInvalid(format!(
                "the archive has two manifests, or one of slot {} under the name {slot}",
                manifest.slot
            )));
        }
        self.manifest = Some(manifest);
        Ok(())
    }

    fn finish(self, unpacked_bytes: u64) -> Result<ArchiveEnd> {
        let missing = |what: &str| Error::SnapshotInvalid(format!("the archive has no {what}"));
        if !self.has_version {
            return Err(missing("version"));
        }
        let manifest = self.manifest.ok_or_else(|| missing("manifest"))?;
        if self.newest_slot > manifest.slot {
            return Err(Error::SnapshotInvalid(format!(
                "a storage is of slot {}, but the snapshot of slot {}",
                self.newest_slot, manifest.slot
            )));
        }
        Ok(ArchiveEnd {
            manifest,
            storages: self.storages,
            entries: self.total.entries,
            cut_storages: self.cut_storages,
            unpacked_bytes,
        })
    }
}

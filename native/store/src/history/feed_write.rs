//! Writes the changes of slots to segment files, so that an edge whose subscribers are behind can
//! still send each slot's changes as of that slot.
//!
//! A commit appends the records of its slots, and syncs them beside the tables. Their locations are
//! in the rows of `blocks`, so they become visible with the commit, and only then. What a failed or
//! killed commit has appended is cut off before the next one. The oldest segments are removed as a
//! whole.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::bulk::write_back;
use crate::history::feed_record::{CHUNK_BYTES, ChunkKind, HEAD_BYTES, Location, Packer};
use crate::history::feed_segments as segments;
use crate::indexes::holder_row;
use crate::rows::keys::MintId;
use crate::rows::record::{AccountUpdate, Block};
use crate::rows::{change, part};

/// A segment is full at this part of the bytes, and of the slots, that are kept: so much more may
/// be kept than what is asked for.
const SEGMENT_PART: u64 = 16;

/// A segment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    number: u64,
    bytes: u64,
    first_slot: u64,
    last_slot: u64,
}

/// The segments of a store, and the file that is appended to.
pub(crate) struct FeedWriter {
    dir: PathBuf,
    /// Bytes of all segments.
    bytes_max: u64,
    /// Oldest first. The last one is appended to.
    segments: VecDeque<Segment>,
    /// The last one as of the last commit; `None` before the first.
    committed: Option<Segment>,
    file: Option<File>,
    next_number: u64,
    is_synced: bool,
    packer: Packer,
    /// The changes of one chunk.
    changes: Vec<u8>,
}

impl FeedWriter {
    /// Opens the segments of a store, given the locations in its rows of `blocks` in ascending
    /// order of slots. Removes what none of them names.
    pub fn open(
        store: &Path,
        bytes_max: u64,
        locations: impl Iterator<Item = (u64, Location)>,
    ) -> io::Result<FeedWriter> {
        let dir = segments::dir_of(store);
        let mut named = VecDeque::<Segment>::new();
        for (slot, location) in locations {
            match named.back_mut() {
                Some(last) if last.number == location.segment => {
                    last.last_slot = slot;
                    last.bytes = location.end();
                }
                _ => named.push_back(Segment {
                    number: location.segment,
                    bytes: location.end(),
                    first_slot: slot,
                    last_slot: slot,
                }),
            }
        }
        let found = segments::numbers(&dir)?;
        let last_number = found.last().max(named.back().map(|last| &last.number));
        let next_number = last_number.map_or(0, |number| number.saturating_add(1));
        for number in found {
            let is_named = named.iter().any(|segment| segment.number == number);
            if !is_named || bytes_max == 0 {
                segments::remove(&dir, number)?;
            }
        }
        named.retain(|segment| segments::path_of(&dir, segment.number).exists());
        if bytes_max > 0 {
            fs::create_dir_all(&dir)?;
        }
        let mut writer = FeedWriter {
            dir,
            bytes_max,
            committed: named.back().copied(),
            segments: named,
            file: None,
            next_number,
            is_synced: true,
            packer: Packer::new()?,
            changes: Vec::new(),
        };
        writer.reopen()?;
        Ok(writer)
    }

    /// Opens the last segment, without what was appended after the last commit. Nothing is appended
    /// to one that is too short, and so damaged, or whose successor is missing.
    fn reopen(&mut self) -> io::Result<()> {
        self.file = None;
        if let Some(last) = self.segments.back() {
            let path = segments::path_of(&self.dir, last.number);
            let file = File::options().write(true).open(path)?;
            let length = file.metadata()?.len();
            if length > last.bytes {
                file.set_len(last.bytes)?;
            }
            let is_last = last.number + 1 == self.next_number;
            self.file = (is_last && length >= last.bytes).then_some(file);
        }
        Ok(())
    }

    /// Begins a commit: takes back what the former one has appended, if that failed.
    pub fn begin(&mut self) -> io::Result<()> {
        if self.segments.back() == self.committed.as_ref() {
            return Ok(());
        }
        let last = self.committed.map_or(0, |segment| segment.number);
        while let Some(segment) = self.segments.back()
            && (segment.number > last || self.committed.is_none())
        {
            segments::remove(&self.dir, segment.number)?;
            self.segments.pop_back();
        }
        if let (Some(segment), Some(committed)) = (self.segments.back_mut(), self.committed)
            && segment.number == committed.number
        {
            *segment = committed;
        }
        self.committed = self.segments.back().copied();
        self.reopen()
    }

    /// What was appended is visible.
    pub fn commit(&mut self) {
        self.committed = self.segments.back().copied();
    }

    /// Appends the changes of blocks, and removes the segments that exceed the limits: those before
    /// the newest `slots_kept`, and those over the bytes. A slot that alone exceeds the bytes has
    /// no location. `refilled` are the mints whose rows of `holders` the commit refills; they are
    /// kept with the first block.
    pub fn append(
        &mut self,
        blocks: &[&Block],
        accounts: &[Vec<&AccountUpdate>],
        refilled: &[MintId],
        slots_kept: u64,
    ) -> io::Result<Vec<Option<Location>>> {
        let mut locations = Vec::with_capacity(blocks.len());
        let mut refilled = Some(refilled);
        for (block, accounts) in blocks.iter().zip(accounts) {
            if self.bytes_max == 0 {
                locations.push(None);
                continue;
            }
            let refilled = refilled.take().unwrap_or_default();
            locations.push(self.append_slot(block, accounts, refilled, slots_kept)?);
            self.prune((block.slot + 1).saturating_sub(slots_kept))?;
        }
        Ok(locations)
    }

    fn append_slot(
        &mut self,
        block: &Block,
        accounts: &[&AccountUpdate],
        refilled: &[MintId],
        slots_kept: u64,
    ) -> io::Result<Option<Location>> {
        let slots_max = (slots_kept / SEGMENT_PART).max(1);
        let begin = match self.segments.back() {
            Some(last)
                if self.is_sound(last.bytes)
                    && last.bytes < self.bytes_max / SEGMENT_PART
                    && block.slot.saturating_sub(last.first_slot) < slots_max =>
            {
                last.bytes
            }
            _ => self.begin_segment(block.slot)?,
        };
        let (Some(file), Some(segment)) = (&self.file, self.segments.back_mut()) else {
            return Ok(None);
        };
        // Those of a record that could not be written.
        self.changes.clear();
        let mut record = Record {
            file,
            packer: &mut self.packer,
            changes: &mut self.changes,
            slot: block.slot,
            position: 0,
            at: begin,
            changes_bytes: 0,
        };
        self.is_synced = false;
        for update in accounts {
            change::push_account(record.changes, update, block.slot);
            record.flush(ChunkKind::Accounts, CHUNK_BYTES)?;
        }
        record.flush(ChunkKind::Accounts, 1)?;
        for update in &block.transactions {
            change::push_transaction(record.changes, update);
            record.flush(ChunkKind::Transactions, CHUNK_BYTES)?;
        }
        record.flush(ChunkKind::Transactions, 1)?;
        for entry in &block.parts.entries {
            part::push_entry(record.changes, entry);
            record.flush(ChunkKind::Entries, CHUNK_BYTES)?;
        }
        record.flush(ChunkKind::Entries, 1)?;
        part::push_others(record.changes, &block.parts);
        record.flush(ChunkKind::Block, 1)?;
        let keys = refilled.iter().flat_map(holder_row::key);
        record.changes.extend(keys);
        record.flush(ChunkKind::Holders, 1)?;
        let (end, changes_bytes) = (record.at, record.changes_bytes);
        if end - begin > self.bytes_max {
            file.set_len(begin)?;
            return Ok(None);
        }
        (segment.bytes, segment.last_slot) = (end, block.slot);
        write_back::begin(file);
        Ok(Some(Location {
            segment: segment.number,
            at: begin,
            bytes: end - begin,
            changes: (accounts.len() + block.transactions.len()) as u64,
            changes_bytes,
        }))
    }

    /// Whether the file that is appended to has so many bytes, and is still in its folder.
    fn is_sound(&self, bytes: u64) -> bool {
        let found = self.file.as_ref().map(File::metadata);
        found.is_some_and(|found| found.is_ok_and(|file| file.len() >= bytes && file.nlink() > 0))
    }

    /// Begins a segment, and returns where: at 0.
    fn begin_segment(&mut self, slot: u64) -> io::Result<u64> {
        self.sync()?;
        let number = self.next_number;
        let file = File::options()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(segments::path_of(&self.dir, number))?;
        File::open(&self.dir)?.sync_all()?;
        self.next_number += 1;
        self.file = Some(file);
        self.segments.push_back(Segment {
            number,
            bytes: 0,
            first_slot: slot,
            last_slot: slot,
        });
        Ok(0)
    }

    /// Removes the oldest segments, but not the one that is appended to.
    fn prune(&mut self, oldest_kept: u64) -> io::Result<()> {
        let mut over = self.bytes().saturating_sub(self.bytes_max);
        while self.segments.len() > 1
            && let Some(oldest) = self.segments.front().copied()
            && (oldest.last_slot < oldest_kept || over > 0)
        {
            segments::remove(&self.dir, oldest.number)?;
            over = over.saturating_sub(oldest.bytes);
            self.segments.pop_front();
        }
        Ok(())
    }

    /// Removes the oldest segments until the disk has so many bytes more, but not the one that is
    /// appended to.
    pub fn give_back(&mut self, mut bytes: u64) -> io::Result<()> {
        while self.segments.len() > 1
            && bytes > 0
            && let Some(oldest) = self.segments.front().copied()
        {
            segments::remove(&self.dir, oldest.number)?;
            bytes = bytes.saturating_sub(oldest.bytes);
            self.segments.pop_front();
        }
        Ok(())
    }

    /// Waits until what was appended is on disk.
    pub fn sync(&mut self) -> io::Result<()> {
        if let Some(file) = &self.file
            && !self.is_synced
        {
            file.sync_data()?;
        }
        self.is_synced = true;
        Ok(())
    }

    /// The oldest slot of all segments; 0 without one.
    pub fn first_slot(&self) -> u64 {
        self.segments
            .front()
            .map_or(0, |segment| segment.first_slot)
    }

    /// Bytes of all segments.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }
}

/// A record that is written chunk by chunk.
struct Record<'w> {
    file: &'w File,
    packer: &'w mut Packer,
    /// Those of the next chunk.
    changes: &'w mut Vec<u8>,
    slot: u64,
    position: u32,
    /// The end of what is written.
    at: u64,
    changes_bytes: u64,
}

impl Record<'_> {
    /// Writes a chunk if it has so many bytes of changes.
    fn flush(&mut self, kind: ChunkKind, bytes_min: usize) -> io::Result<()> {
        if self.changes.len() < bytes_min {
            return Ok(());
        }
        let packed = self
            .packer
            .pack(self.slot, self.position, kind, self.changes);
        let (head, body) = packed?;
        self.file.write_all_at(&head, self.at)?;
        self.file.write_all_at(body, self.at + HEAD_BYTES as u64)?;
        self.at += (HEAD_BYTES + body.len()) as u64;
        self.position += 1;
        self.changes_bytes += self.changes.len() as u64;
        self.changes.clear();
        // One large change must not keep its memory.
        self.changes.shrink_to(2 * CHUNK_BYTES);
        Ok(())
    }
}

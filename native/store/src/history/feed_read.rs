//! Reads the changes of a slot, from the first one or from a saved position.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::Path;

use crate::history::feed_record::{ChunkKind, HEAD_BYTES, Head, Location};
use crate::history::feed_segments as segments;
use crate::indexes::holder_row;
use crate::rows::change::{self, Change};
use crate::rows::keys::{self, MintId};
use crate::rows::part::{self, Part};
use crate::rows::record::{self, AccountRef};
use crate::snapshot::Snapshot;
use primitives::Pubkey;
use sys::error::Result;
use sys::mapped_range::MappedRange;

/// A position before one of a slot's changes; the default is before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedPosition {
    /// Where its chunk begins in the record.
    at: usize,
    /// The chunk's position in the record.
    chunk: u32,
    /// Bytes of changes before it in its chunk.
    within: usize,
    /// Bytes of changes before its chunk.
    before: u64,
    /// Whether accounts after it are not read.
    skips_accounts: bool,
}

impl FeedPosition {
    /// The same, or before the slot's first transaction if that is later.
    #[must_use]
    pub fn without_accounts(self) -> FeedPosition {
        FeedPosition {
            skips_accounts: true,
            ..self
        }
    }

    /// Before the chunk that follows this one.
    fn after(self, head: &Head) -> FeedPosition {
        FeedPosition {
            at: self.at + HEAD_BYTES + head.body_bytes as usize,
            chunk: self.chunk + 1,
            within: 0,
            before: self.before + u64::from(head.changes_bytes),
            ..self
        }
    }

    /// The total size in bytes of the changes before this position.
    pub fn bytes(self) -> u64 {
        self.before + self.within as u64
    }
}

/// How a read of a slot's changes ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedEnd {
    /// The slot is not stored: it was removed, is not yet applied, or was skipped by the chain.
    Absent,
    /// The slot's changes, or the rest of them, cannot be read any more.
    Damaged,
    /// Every change was visited; the position after the last change.
    Whole(FeedPosition),
    /// The visitor stopped; the position before the change it stopped at.
    Stopped(FeedPosition),
}

/// What a commit wrote.
pub(crate) enum Written<'a> {
    /// An account, as in [`Change::Account`].
    Account(&'a Pubkey, AccountRef<'a>),
    /// A row of `holders` that was refilled.
    Holders(MintId),
}

/// Handles one change: continues after it, or stops before it.
pub type FeedVisit<'v> = dyn FnMut(Change<'_>) -> Result<ControlFlow<()>> + 'v;

/// The record of a slot.
enum Record {
    Absent,
    Damaged,
    Mapped(MappedRange),
}

impl Snapshot<'_> {
    /// Visits the changes of a slot: accounts in order of pubkeys, then transactions. Returns false
    /// if the slot is not stored, or damaged; some of its changes may have been visited then.
    pub fn feed(&self, slot: u64, visit: &mut dyn FnMut(Change<'_>) -> Result<()>) -> Result<bool> {
        let end = self.feed_from(slot, FeedPosition::default(), &mut |change| {
            visit(change)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(matches!(end, FeedEnd::Whole(_)))
    }

    /// Visits the changes of a slot from `position` on. Keeps one chunk in memory at a time.
    pub fn feed_from(
        &self,
        slot: u64,
        position: FeedPosition,
        visit: &mut FeedVisit<'_>,
    ) -> Result<FeedEnd> {
        match self.open_record(slot, position)? {
            Ok(mut reader) => reader.visit(position, visit),
            Err(end) => Ok(end),
        }
    }

    /// Visits what is kept of a slot's block as a whole, the entries first if they are wanted.
    /// Whatever was not kept is not visited.
    pub fn feed_parts(
        &self,
        slot: u64,
        wants_entries: bool,
        visit: &mut dyn FnMut(Part<'_>),
    ) -> Result<FeedEnd> {
        match self.open_record(slot, FeedPosition::default())? {
            Ok(mut reader) => Ok(reader.visit_parts(wants_entries, visit)),
            Err(end) => Ok(end),
        }
    }

    /// Visits what the commit of a slot's block wrote to the tables of accounts. An account that
    /// left the scope is visited as the block has it.
    pub(crate) fn feed_writes(
        &self,
        slot: u64,
        visit: &mut dyn FnMut(Written<'_>),
    ) -> Result<FeedEnd> {
        match self.open_record(slot, FeedPosition::default())? {
            Ok(mut reader) => Ok(reader.visit_writes(visit)),
            Err(end) => Ok(end),
        }
    }

    fn open_record(
        &self,
        slot: u64,
        position: FeedPosition,
    ) -> Result<std::result::Result<Reader, FeedEnd>> {
        let Some(location) = self.feed_location(slot)? else {
            return Ok(Err(FeedEnd::Absent));
        };
        if location.bytes == 0 {
            return Ok(Err(FeedEnd::Whole(position)));
        }
        Ok(match open(&segments::dir_of(&self.store.dir), &location)? {
            Record::Mapped(record) => Ok(Reader {
                record,
                slot,
                location,
                decompressor: None,
                changes: Vec::new(),
            }),
            Record::Absent => Err(FeedEnd::Absent),
            Record::Damaged => Err(FeedEnd::Damaged),
        })
    }

    /// Where the changes of a slot are, if its block is stored with them.
    pub(crate) fn feed_location(&self, slot: u64) -> Result<Option<Location>> {
        let row = self.tables().blocks.get(&self.txn, &slot.to_be_bytes())?;
        Ok(row.and_then(record::decode_location))
    }

    /// The oldest slot whose changes are stored.
    pub fn feed_oldest_slot(&self) -> Result<Option<u64>> {
        let numbers = segments::numbers(&segments::dir_of(&self.store.dir))?;
        let Some(oldest) = numbers.first() else {
            return Ok(None);
        };
        for row in self.tables().blocks.iter(&self.txn)? {
            let (key, value) = row?;
            if record::decode_location(value).is_some_and(|found| found.segment >= *oldest) {
                return Ok(Some(keys::slot_of(key)));
            }
        }
        Ok(None)
    }
}

/// Maps a record. Segments are removed from the oldest on, so one that is missing after another
/// one was not removed by the writer.
fn open(dir: &Path, location: &Location) -> Result<Record> {
    let Ok(bytes) = usize::try_from(location.bytes) else {
        return Ok(Record::Damaged);
    };
    let mapped = File::open(segments::path_of(dir, location.segment))
        .and_then(|file| MappedRange::open(&file, location.at, bytes));
    match mapped {
        Ok(mapped) => Ok(Record::Mapped(mapped)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let oldest = segments::numbers(dir)?.first().copied();
            let is_removed = oldest.is_none_or(|oldest| oldest > location.segment);
            Ok(if is_removed {
                Record::Absent
            } else {
                Record::Damaged
            })
        }
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(Record::Damaged),
        Err(error) => Err(error.into()),
    }
}

/// Reads a record chunk by chunk.
struct Reader {
    record: MappedRange,
    slot: u64,
    location: Location,
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
    /// Those of a chunk that is compressed.
    changes: Vec<u8>,
}

impl Reader {
    fn visit(&mut self, mut position: FeedPosition, visit: &mut FeedVisit<'_>) -> Result<FeedEnd> {
        while (position.at as u64) < self.location.bytes {
            let Some(head) = self.head(&position) else {
                return Ok(FeedEnd::Damaged);
            };
            let is_skipped = match head.kind {
                ChunkKind::Accounts => position.skips_accounts,
                ChunkKind::Transactions => false,
                ChunkKind::Entries | ChunkKind::Block | ChunkKind::Holders => true,
            };
            let next = FeedPosition {
                skips_accounts: is_skipped && position.skips_accounts,
                ..position.after(&head)
            };
            if is_skipped {
                position = next;
                continue;
            }
            position.skips_accounts = false;
            let Some(changes) = self.changes(&head, &position) else {
                return Ok(FeedEnd::Damaged);
            };
            while position.within < changes.len() {
                let rest = changes.get(position.within..).unwrap_or_default();
                let decoded = change::first_length(rest)
                    .and_then(|length| Some((length, change::decode(rest.get(..length)?)?)));
                let Some((length, change)) = decoded else {
                    return Ok(FeedEnd::Damaged);
                };
                if visit(change)?.is_break() {
                    return Ok(FeedEnd::Stopped(position));
                }
                position.within += length;
            }
            position = next;
        }
        Ok(FeedEnd::Whole(position))
    }

    fn visit_parts(&mut self, wants_entries: bool, visit: &mut dyn FnMut(Part<'_>)) -> FeedEnd {
        let is_wanted = |kind| match kind {
            ChunkKind::Accounts | ChunkKind::Transactions | ChunkKind::Holders => false,
            ChunkKind::Entries => wants_entries,
            ChunkKind::Block => true,
        };
        self.visit_chunks(is_wanted, &mut |_, parts| {
            each_of(parts, |bytes| part::decode(bytes).map(&mut *visit))
        })
    }

    fn visit_writes(&mut self, visit: &mut dyn FnMut(Written<'_>)) -> FeedEnd {
        let is_wanted = |kind| matches!(kind, ChunkKind::Accounts | ChunkKind::Holders);
        self.visit_chunks(is_wanted, &mut |kind, writes| {
            if kind == ChunkKind::Holders {
                let (keys, rest) = writes.as_chunks::<{ holder_row::KEY_BYTES }>();
                for key in keys {
                    visit(Written::Holders(keys::mint_of(key)?));
                }
                return rest.is_empty().then_some(());
            }
            each_of(writes, |bytes| match change::decode(bytes)? {
                Change::Account {
                    pubkey, account, ..
                } => {
                    visit(Written::Account(pubkey, account));
                    Some(())
                }
                Change::Status { .. } | Change::Transaction { .. } => None,
            })
        })
    }

    /// Visits the wanted chunks of the record. A visitor that returns `None` has found damage.
    fn visit_chunks(
        &mut self,
        is_wanted: impl Fn(ChunkKind) -> bool,
        visit: &mut dyn FnMut(ChunkKind, &[u8]) -> Option<()>,
    ) -> FeedEnd {
        let mut position = FeedPosition::default();
        while (position.at as u64) < self.location.bytes {
            let Some(head) = self.head(&position) else {
                return FeedEnd::Damaged;
            };
            if is_wanted(head.kind) {
                let changes = self.changes(&head, &position);
                if changes.and_then(|found| visit(head.kind, found)).is_none() {
                    return FeedEnd::Damaged;
                }
            }
            position = position.after(&head);
        }
        FeedEnd::Whole(position)
    }

    /// The head of the chunk at a position, if there is one.
    fn head(&self, position: &FeedPosition) -> Option<Head> {
        let head = Head::decode(self.record.bytes(position.at, HEAD_BYTES).ok()?)?;
        let is_next = head.slot == self.slot && head.position == position.chunk;
        let end = position.before + u64::from(head.changes_bytes);
        (is_next && end <= self.location.changes_bytes).then_some(head)
    }

    /// The changes of a chunk: in the file itself if they are not compressed. `None` if these are
    /// not the bytes that were written.
    fn changes(&mut self, head: &Head, position: &FeedPosition) -> Option<&[u8]> {
        let at = position.at + HEAD_BYTES;
        let body = self.record.bytes(at, head.body_bytes as usize).ok()?;
        if !head.fits(body) {
            return None;
        }
        let bytes = head.changes_bytes as usize;
        if !head.is_compressed() {
            return (body.len() == bytes).then_some(body);
        }
        self.changes.clear();
        self.changes.reserve(bytes);
        let written = decompress(&mut self.decompressor, body, &mut self.changes).ok()?;
        (written == bytes).then_some(&self.changes)
    }
}

/// Visits each change, or part, of a chunk; `None` if one is damaged.
fn each_of(mut rest: &[u8], mut visit: impl FnMut(&[u8]) -> Option<()>) -> Option<()> {
    while !rest.is_empty() {
        let (first, after) = rest.split_at_checked(change::first_length(rest)?)?;
        visit(first)?;
        rest = after;
    }
    Some(())
}

fn decompress(
    decompressor: &mut Option<zstd::bulk::Decompressor<'static>>,
    body: &[u8],
    to: &mut Vec<u8>,
) -> io::Result<usize> {
    let decompressor = match decompressor {
        Some(decompressor) => decompressor,
        none => none.insert(zstd::bulk::Decompressor::new()?),
    };
    decompressor.decompress_to_buffer(body, to)
}

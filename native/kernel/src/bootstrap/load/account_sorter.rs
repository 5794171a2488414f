//! Versions of accounts on their way into sorted runs. While one half of the memory is filled, a
//! thread of its own sorts and writes the other.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::merge::prefix_of;
use super::record::{self, Kind, Newness};
use super::spill::{Span, SpillFile, SpillWriter};
use crate::Pubkey;
use crate::error::{Error, Result};
use crate::store::AccountRef;

/// What an entry of an arena takes beside its bytes.
const ENTRY_BYTES: usize = size_of::<Entry>();

/// The first bytes of a key as a number, and where its record begins: most comparisons end with the
/// number, without a look at the record.
type Entry = (u64, u64);

/// Half of the memory.
#[derive(Default)]
struct Arena {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Arena {
    fn held_bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * ENTRY_BYTES
    }

    /// Writes everything as one run, and empties it.
    fn spill(&mut self, out: &mut SpillWriter) -> Result<Span> {
        let bytes = &self.bytes;
        let from = |at: u64| bytes.get(at as usize..).unwrap_or_default();
        let key = |at: u64| {
            let record = from(at);
            record.get(..record::KEY_BYTES).unwrap_or(record)
        };
        self.entries.sort_unstable_by(|a, b| {
            let by_prefix = a.0.cmp(&b.0);
            by_prefix.then_with(|| key(a.1).cmp(key(b.1)))
        });
        let start = out.position();
        for (_, at) in &self.entries {
            let record = from(*at);
            let length = record.first_chunk().map_or(0, record::length_at);
            out.write(record.get(..length).unwrap_or_default())?;
        }
        self.bytes.clear();
        self.entries.clear();
        out.end_run(start)
    }
}

/// Sorts versions into runs.
pub(super) struct AccountSorter {
    current: Arena,
    half_bytes: usize,
    full: Option<SyncSender<Arena>>,
    emptied: Receiver<Arena>,
    thread: Option<JoinHandle<Result<Vec<Span>>>>,
    file: SpillFile,
}

impl AccountSorter {
    pub fn start(out: SpillWriter, memory_bytes: usize) -> Result<AccountSorter> {
        let (full, to_sort) = sync_channel::<Arena>(1);
        let (give_back, emptied) = sync_channel(2);
        let file = out.file();
        // The second arena waits for its turn.
        let _ = give_back.send(Arena::default());
        let work = move || sort_all(&to_sort, &give_back, out);
        let thread = thread::Builder::new()
            .name("load-sort".into())
            .spawn(work)?;
        Ok(AccountSorter {
            current: Arena::default(),
            half_bytes: memory_bytes / 2,
            full: Some(full),
            emptied,
            thread: Some(thread),
            file,
        })
    }

    pub fn push(
        &mut self,
        pubkey: &Pubkey,
        newness: Newness,
        kind: Kind,
        account: &AccountRef<'_>,
    ) -> Result<()> {
        let bytes = record::bytes_of(kind, account) + ENTRY_BYTES;
        let held = self.current.held_bytes();
        if held > 0 && held + bytes > self.half_bytes {
            self.hand_over()?;
        }
        let arena = &mut self.current;
        if arena.bytes.capacity() == 0 {
            // Growing would copy what is there, and take twice the room meanwhile.
            arena.bytes.reserve_exact(self.half_bytes);
        }
        let at = arena.bytes.len() as u64;
        arena.entries.push((prefix_of(pubkey), at));
        record::append(&mut arena.bytes, pubkey, newness, kind, account);
        Ok(())
    }

    /// Ends the last run. Answers where all of them are.
    pub fn finish(mut self) -> Result<(SpillFile, Vec<Span>)> {
        if !self.current.entries.is_empty() {
            self.hand_over()?;
        }
        let file = self.file.clone();
        Ok((file, self.end_thread()?))
    }

    fn hand_over(&mut self) -> Result<()> {
        if let (Ok(empty), Some(full)) = (self.emptied.recv(), &self.full) {
            let arena = std::mem::replace(&mut self.current, empty);
            if full.send(arena).is_ok() {
                return Ok(());
            }
        }
        // The thread has ended, which it does by itself only where it failed.
        self.end_thread()?;
        Err(Error::Internal("the sort of a load has ended early".into()))
    }

    fn end_thread(&mut self) -> Result<Vec<Span>> {
        self.full = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(spans)) => spans,
            _ => Err(Error::Internal("the sort of a load has failed".into())),
        }
    }
}

impl Drop for AccountSorter {
    fn drop(&mut self) {
        let _ = self.end_thread();
    }
}

fn sort_all(
    to_sort: &Receiver<Arena>,
    give_back: &SyncSender<Arena>,
    mut out: SpillWriter,
) -> Result<Vec<Span>> {
    let mut spans = Vec::new();
    while let Ok(mut arena) = to_sort.recv() {
        spans.push(arena.spill(&mut out)?);
        // Nobody waits for it after the last one.
        let _ = give_back.send(arena);
    }
    Ok(spans)
}

//! Sorts versions of accounts into runs. While one part of the memory fills, other threads sort and
//! write the other parts. Reading an archive takes a third of the time that sorting and writing
//! takes.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::merge::prefix_of;
use super::record::{self, Kind, VersionOrder};
use super::spill::{Span, SpillFile, SpillWriter};
use primitives::Pubkey;
use store::AccountRef;
use sys::error::{Error, Result};

/// Memory of an arena entry in addition to its bytes.
const ENTRY_BYTES: usize = size_of::<Entry>();

/// The first bytes of a key as a number, and the offset of its record. Most comparisons need only
/// the number.
type Entry = (u64, u64);

/// Number of sorting threads.
const SORTERS: usize = 2;

/// A part of the memory. There is one for each sorter and one that fills.
#[derive(Default)]
struct Arena {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Arena {
    fn buffered_bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * ENTRY_BYTES
    }

    /// Writes all records as one run, and empties the arena.
    fn spill(&mut self, out: &Mutex<SpillWriter>) -> Result<Span> {
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
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        let start = out.position();
        for (_, at) in &self.entries {
            let record = from(*at);
            let length = record.first_chunk().map_or(0, record::length_at);
            out.write(record.get(..length).unwrap_or_default())?;
        }
        let span = out.end_run(start)?;
        drop(out);
        self.bytes.clear();
        self.entries.clear();
        Ok(span)
    }
}

/// Sorts versions into runs.
pub(super) struct AccountSorter {
    current: Arena,
    part_bytes: usize,
    full: Option<SyncSender<Arena>>,
    emptied: Receiver<Arena>,
    threads: Vec<JoinHandle<Result<Vec<Span>>>>,
    file: SpillFile,
}

impl AccountSorter {
    pub fn start(out: SpillWriter, memory_bytes: usize) -> Result<AccountSorter> {
        let (full, to_sort) = sync_channel::<Arena>(SORTERS);
        let (give_back, emptied) = sync_channel(SORTERS + 1);
        let file = out.file();
        let out = Arc::new(Mutex::new(out));
        let to_sort = Arc::new(Mutex::new(to_sort));
        let mut threads = Vec::with_capacity(SORTERS);
        for _ in 0..SORTERS {
            // A spare arena for each thread.
            let _ = give_back.send(Arena::default());
            let (to_sort, give_back) = (Arc::clone(&to_sort), give_back.clone());
            let out = Arc::clone(&out);
            let thread = thread::Builder::new().name("load-sort".into());
            threads.push(thread.spawn(move || sort_all(&to_sort, &give_back, &out))?);
        }
        Ok(AccountSorter {
            current: Arena::default(),
            part_bytes: memory_bytes / (SORTERS + 1),
            full: Some(full),
            emptied,
            threads,
            file,
        })
    }

    pub fn push(
        &mut self,
        pubkey: &Pubkey,
        version_order: VersionOrder,
        kind: Kind,
        account: &AccountRef<'_>,
    ) -> Result<()> {
        let bytes = record::bytes_of(kind, account) + ENTRY_BYTES;
        let buffered = self.current.buffered_bytes();
        if buffered > 0 && buffered + bytes > self.part_bytes {
            self.hand_over()?;
        }
        let arena = &mut self.current;
        if arena.bytes.capacity() == 0 {
            // Growth would copy the records and need twice the memory during the copy.
            arena.bytes.reserve_exact(self.part_bytes);
        }
        let at = arena.bytes.len() as u64;
        arena.entries.push((prefix_of(pubkey), at));
        record::append(&mut arena.bytes, pubkey, version_order, kind, account);
        Ok(())
    }

    /// Ends the last run. Returns the file and the spans of all runs.
    pub fn finish(mut self) -> Result<(SpillFile, Vec<Span>)> {
        if !self.current.entries.is_empty() {
            self.hand_over()?;
        }
        let file = self.file.clone();
        Ok((file, self.end_threads()?))
    }

    fn hand_over(&mut self) -> Result<()> {
        // A thread ends early only if it failed.
        if !self.threads.iter().any(JoinHandle::is_finished)
            && let (Ok(empty), Some(full)) = (self.emptied.recv(), &self.full)
        {
            let arena = std::mem::replace(&mut self.current, empty);
            if full.send(arena).is_ok() {
                return Ok(());
            }
        }
        self.end_threads()?;
        Err(Error::Internal("the sort of a load has ended early".into()))
    }

    fn end_threads(&mut self) -> Result<Vec<Span>> {
        self.full = None;
        let mut spans = Vec::new();
        let mut failure = None;
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok(of_thread)) => spans.extend(of_thread),
                Ok(Err(error)) => failure = failure.or(Some(error)),
                Err(_) => {
                    let panicked = || Error::Internal("the sort of a load has failed".into());
                    failure = failure.or_else(|| Some(panicked()));
                }
            }
        }
        failure.map_or(Ok(spans), Err)
    }
}

impl Drop for AccountSorter {
    fn drop(&mut self) {
        let _ = self.end_threads();
    }
}

fn sort_all(
    to_sort: &Mutex<Receiver<Arena>>,
    give_back: &SyncSender<Arena>,
    out: &Mutex<SpillWriter>,
) -> Result<Vec<Span>> {
    let mut spans = Vec::new();
    loop {
        let next = to_sort
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(mut arena) = next else {
            return Ok(spans);
        };
        spans.push(arena.spill(out)?);
        // The receiver is dropped after the last arena.
        let _ = give_back.send(arena);
    }
}

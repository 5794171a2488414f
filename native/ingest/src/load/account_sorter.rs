//! Sorts versions of accounts into runs. While one part of the memory fills, other threads sort and
//! write the other parts. Reading an archive takes a third of the time that sorting and writing
//! takes.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

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
/// Between two looks at whether a thread has failed, while another one is waited for.
const LOOK: Duration = Duration::from_millis(100);

/// The file of the runs, and the runs in it.
struct Runs {
    out: SpillWriter,
    spans: Vec<Span>,
}

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
    fn spill(&mut self, runs: &Mutex<Runs>) -> Result<()> {
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
        let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
        let start = runs.out.position();
        for (_, at) in &self.entries {
            let record = from(*at);
            let length = record.first_chunk().map_or(0, record::length_at);
            runs.out.write(record.get(..length).unwrap_or_default())?;
        }
        let span = runs.out.end_run(start)?;
        runs.spans.push(span);
        drop(runs);
        self.bytes.clear();
        self.entries.clear();
        Ok(())
    }
}

/// Sorts versions into runs.
pub(super) struct AccountSorter {
    current: Arena,
    part_bytes: usize,
    full: Option<SyncSender<Arena>>,
    emptied: Receiver<Arena>,
    /// Those that came back while all were waited for.
    spares: Vec<Arena>,
    threads: Vec<JoinHandle<Result<()>>>,
    file: SpillFile,
    runs: Arc<Mutex<Runs>>,
}

impl AccountSorter {
    /// Adds runs to those that the file has.
    pub fn start(out: SpillWriter, spans: Vec<Span>, memory_bytes: usize) -> Result<AccountSorter> {
        let (full, to_sort) = sync_channel::<Arena>(SORTERS);
        let (give_back, emptied) = sync_channel(SORTERS + 1);
        let file = out.file();
        let runs = Arc::new(Mutex::new(Runs { out, spans }));
        let to_sort = Arc::new(Mutex::new(to_sort));
        let mut threads = Vec::with_capacity(SORTERS);
        for _ in 0..SORTERS {
            // A spare arena for each thread.
            let _ = give_back.send(Arena::default());
            let (to_sort, give_back) = (Arc::clone(&to_sort), give_back.clone());
            let runs = Arc::clone(&runs);
            let thread = thread::Builder::new().name("load-sort".into());
            threads.push(thread.spawn(move || sort_all(&to_sort, &give_back, &runs))?);
        }
        Ok(AccountSorter {
            current: Arena::default(),
            part_bytes: memory_bytes / (SORTERS + 1),
            full: Some(full),
            emptied,
            spares: Vec::new(),
            threads,
            file,
            runs,
        })
    }

    /// Ends the run unless a record of so many bytes fits. Returns whether it has.
    pub fn make_room(&mut self, record_bytes: usize) -> Result<bool> {
        let buffered = self.current.buffered_bytes();
        let is_full = buffered > 0 && buffered + record_bytes + ENTRY_BYTES > self.part_bytes;
        if is_full {
            self.hand_over()?;
        }
        Ok(is_full)
    }

    pub fn push(
        &mut self,
        pubkey: &Pubkey,
        version_order: VersionOrder,
        kind: Kind,
        account: &AccountRef<'_>,
    ) -> Result<()> {
        self.make_room(record::bytes_of(kind, account))?;
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
        self.end_threads()?;
        Ok((self.file.clone(), self.take_spans()))
    }

    /// Ends the last run, waits until all are on the disk, and returns their spans.
    pub fn sync(&mut self) -> Result<Vec<Span>> {
        if !self.current.entries.is_empty() {
            self.hand_over()?;
        }
        let mut spares = std::mem::take(&mut self.spares);
        while spares.len() < SORTERS {
            spares.push(self.next_spare()?);
        }
        self.spares = spares;
        self.file.sync()?;
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(runs.spans.clone())
    }

    /// Removes all runs but the first ones. Nothing must have been pushed after them.
    pub fn keep_runs(&mut self, count: usize) -> Result<()> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.spans.truncate(count);
        let end = runs.spans.iter().map(|span| span.end).max().unwrap_or(0);
        runs.out.rewind(end)
    }

    fn take_spans(&self) -> Vec<Span> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut runs.spans)
    }

    fn hand_over(&mut self) -> Result<()> {
        let empty = self.next_spare()?;
        let arena = std::mem::replace(&mut self.current, empty);
        match &self.full {
            Some(full) if full.send(arena).is_ok() => Ok(()),
            _ => Err(self.ended_early()),
        }
    }

    /// Waits for an empty part of the memory.
    fn next_spare(&mut self) -> Result<Arena> {
        loop {
            // A thread ends early only if it failed; the others go on.
            if self.threads.iter().any(JoinHandle::is_finished) {
                return Err(self.ended_early());
            }
            if let Some(spare) = self.spares.pop() {
                return Ok(spare);
            }
            match self.emptied.recv_timeout(LOOK) {
                Ok(spare) => return Ok(spare),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended_early()),
            }
        }
    }

    /// The failure of a thread.
    fn ended_early(&mut self) -> Error {
        let none = || Error::Internal("the sort of a load has ended early".into());
        self.end_threads().err().unwrap_or_else(none)
    }

    fn end_threads(&mut self) -> Result<()> {
        self.full = None;
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            let panicked = |_| Err(Error::Internal("the sort of a load has failed".into()));
            result = result.and(thread.join().unwrap_or_else(panicked));
        }
        result
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
    runs: &Mutex<Runs>,
) -> Result<()> {
    loop {
        let next = to_sort
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(mut arena) = next else {
            return Ok(());
        };
        arena.spill(runs)?;
        // The receiver is dropped after the last arena.
        let _ = give_back.send(arena);
    }
}

//! The rows of all indexes: sorted by a thread of their own while accounts are written, then
//! written table by table while a thread of its own reads on.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::build::Meter;
use super::merge::Merge;
use super::row_sorter::RowSorter;
use super::spill::{Span, SpillFile, SpillWriter};
use super::{LoadOptions, Progress};
use crate::error::{Error, Result};
use crate::store::{BulkWriter, IndexKind, IndexWriter};

/// Bytes of rows that go from one thread to another at a time.
const BATCH_BYTES: usize = 64 << 10;
/// Batches that may wait between two threads.
const BATCHES_MAX: usize = 16;

/// Takes rows of all indexes and sorts them on a thread of its own.
pub(super) struct IndexSorter {
    batches: [(IndexKind, Vec<u8>); 4],
    full: Option<SyncSender<(IndexKind, Vec<u8>)>>,
    thread: Option<JoinHandle<Result<IndexRuns>>>,
}

/// The sorted rows of all indexes.
pub(super) struct IndexRuns {
    file: SpillFile,
    of: Vec<(IndexKind, u64, Vec<Span>)>,
}

impl IndexRuns {
    pub fn rows(&self) -> u64 {
        self.of.iter().map(|(_, rows, _)| rows).sum()
    }

    pub fn bytes(&self) -> u64 {
        let of = self.of.iter();
        of.map(|(kind, rows, _)| rows * kind.row_bytes() as u64)
            .sum()
    }
}

impl IndexSorter {
    pub fn start(work_dir: &Path, options: &LoadOptions) -> Result<IndexSorter> {
        let out = SpillWriter::create(work_dir, "indexes", options.disk_reserve_bytes)?;
        let memory = options.sort_memory_bytes / 4 * 3 / IndexKind::ALL.len();
        let sorters = IndexKind::ALL.map(|kind| (kind, RowSorter::new(kind, memory)));
        let (full, to_sort) = sync_channel(BATCHES_MAX);
        let work = move || sort_all(&to_sort, sorters, out);
        Ok(IndexSorter {
            batches: IndexKind::ALL.map(|kind| (kind, Vec::with_capacity(BATCH_BYTES))),
            full: Some(full),
            thread: Some(
                thread::Builder::new()
                    .name("load-index".into())
                    .spawn(work)?,
            ),
        })
    }

    /// Takes one row, in parts.
    #[inline]
    pub fn push(&mut self, kind: IndexKind, parts: &[&[u8]]) -> Result<()> {
        let Some((_, batch)) = self.batches.iter_mut().find(|(of, _)| *of == kind) else {
            return Ok(());
        };
        for part in parts {
            batch.extend_from_slice(part);
        }
        if batch.len() + kind.row_bytes() <= BATCH_BYTES {
            return Ok(());
        }
        let rows = std::mem::replace(batch, Vec::with_capacity(BATCH_BYTES));
        self.send(kind, rows)
    }

    /// Answers where all sorted rows are.
    pub fn finish(mut self) -> Result<IndexRuns> {
        for i in 0..self.batches.len() {
            if let Some((kind, batch)) = self.batches.get_mut(i) {
                let (kind, rows) = (*kind, std::mem::take(batch));
                self.send(kind, rows)?;
            }
        }
        self.end_thread()
    }

    fn send(&mut self, kind: IndexKind, rows: Vec<u8>) -> Result<()> {
        if let Some(full) = &self.full
            && full.send((kind, rows)).is_ok()
        {
            return Ok(());
        }
        self.end_thread()?;
        Err(Error::Internal(
            "the sort of indexes has ended early".into(),
        ))
    }

    fn end_thread(&mut self) -> Result<IndexRuns> {
        self.full = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(runs)) => runs,
            _ => Err(Error::Internal("the sort of indexes has failed".into())),
        }
    }
}

impl Drop for IndexSorter {
    fn drop(&mut self) {
        let _ = self.end_thread();
    }
}

fn sort_all(
    to_sort: &Receiver<(IndexKind, Vec<u8>)>,
    mut sorters: [(IndexKind, RowSorter); 4],
    mut out: SpillWriter,
) -> Result<IndexRuns> {
    while let Ok((kind, rows)) = to_sort.recv() {
        if let Some((_, sorter)) = sorters.iter_mut().find(|(of, _)| *of == kind) {
            sorter.push(&rows, &mut out)?;
        }
    }
    let mut of = Vec::with_capacity(sorters.len());
    for (kind, sorter) in sorters {
        let (rows, spans) = sorter.finish(&mut out)?;
        of.push((kind, rows, spans));
    }
    Ok(IndexRuns {
        file: out.file(),
        of,
    })
}

/// Writes the tables of one index.
pub(super) fn write(
    runs: &IndexRuns,
    kind: IndexKind,
    out: &mut BulkWriter<'_>,
    memory_bytes: usize,
    progress: &Progress,
) -> Result<()> {
    let Some((_, _, spans)) = runs.of.iter().find(|(of, _, _)| *of == kind) else {
        return Ok(());
    };
    let layout = RowSorter::layout(kind);
    let merge = Merge::new(&runs.file, spans, layout, memory_bytes)?;
    let mut writer = IndexWriter::new(kind, out.changed());
    let mut meter = Meter::new(progress);
    thread::scope(|scope| {
        let (full, batches) = sync_channel(BATCHES_MAX);
        let reading = thread::Builder::new()
            .name("load-merge".into())
            .spawn_scoped(scope, move || read(merge, &full))?;
        // Where this ends early the thread is told by its channel, so the batches are dropped first.
        let written = write_batches(batches, kind, &mut writer, out, &mut meter);
        let read = reading
            .join()
            .unwrap_or_else(|_| Err(Error::Internal("the merge of an index has failed".into())));
        written.and(read)
    })?;
    writer.end(out)
}

fn read(mut merge: Merge, full: &SyncSender<Vec<u8>>) -> Result<()> {
    let mut batch = Vec::with_capacity(BATCH_BYTES);
    while merge.next_key()?.is_some() {
        let row = merge.record()?;
        if batch.len() + row.len() > BATCH_BYTES {
            let rows = std::mem::replace(&mut batch, Vec::with_capacity(BATCH_BYTES));
            if full.send(rows).is_err() {
                // Whoever wrote has failed, and says so.
                return Ok(());
            }
        }
        batch.extend_from_slice(row);
    }
    let _ = full.send(batch);
    Ok(())
}

fn write_batches(
    batches: Receiver<Vec<u8>>,
    kind: IndexKind,
    writer: &mut IndexWriter<'_>,
    out: &mut BulkWriter<'_>,
    meter: &mut Meter<'_>,
) -> Result<()> {
    for batch in batches {
        for row in batch.chunks_exact(kind.row_bytes()) {
            meter.row()?;
            writer.row(row, out)?;
        }
    }
    Ok(())
}

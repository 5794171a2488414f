//! The rows of all indexes. One thread sorts them while accounts are written. Then the tables are
//! written one after another while another thread reads ahead.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::merge::Merge;
use super::meter::Meter;
use super::options::LoadOptions;
use super::row_run::{self, ENTRY_BYTES};
use super::spill::{Span, SpillFile, SpillWriter};
use crate::progress::Progress;
use store::{BulkWriter, IndexKind, IndexWriter};
use sys::error::{Error, Result};

/// Bytes of rows in one batch between threads.
const BATCH_BYTES: usize = 64 << 10;
/// Batches queued between two threads.
const BATCHES_MAX: usize = 16;
/// Parts of the memory besides the one that fills per index: one is sorted, one is queued.
const PARTS_SORTED: usize = 2;

/// Rows of an index, in order of arrival.
type Part = (IndexKind, Vec<u8>);

/// Collects rows of all indexes and sorts them on a separate thread.
pub(super) struct IndexSorter {
    current: [Part; 4],
    part_bytes: usize,
    full: Option<SyncSender<Part>>,
    emptied: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<Result<IndexRuns>>>,
}

/// The sorted rows of all indexes.
pub(super) struct IndexRuns {
    file: SpillFile,
    of: [(IndexKind, u64, Vec<Span>); 4],
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
        let memory = options.sort_memory_bytes / 4 * 3 / (IndexKind::ALL.len() + PARTS_SORTED);
        // Sorting needs one entry for each row.
        let row_bytes = IndexKind::ALL.iter().map(|kind| kind.row_bytes()).min();
        let row_bytes = row_bytes.unwrap_or(ENTRY_BYTES);
        let part_bytes = memory / (row_bytes + ENTRY_BYTES) * row_bytes;
        let (full, to_sort) = sync_channel(PARTS_SORTED);
        let (give_back, emptied) = sync_channel(PARTS_SORTED);
        for _ in 0..PARTS_SORTED {
            let _ = give_back.send(Vec::new());
        }
        let thread = thread::Builder::new().name("load-index".into());
        Ok(IndexSorter {
            current: IndexKind::ALL.map(|kind| (kind, Vec::new())),
            part_bytes: part_bytes.min(row_bytes * u32::MAX as usize),
            full: Some(full),
            emptied,
            thread: Some(thread.spawn(move || sort_all(&to_sort, &give_back, out))?),
        })
    }

    /// Adds one row, given in parts.
    #[inline]
    pub fn push(&mut self, kind: IndexKind, parts: &[&[u8]]) -> Result<()> {
        let part_bytes = self.part_bytes;
        let Some((_, rows)) = self.current.iter_mut().find(|(of, _)| *of == kind) else {
            return Ok(());
        };
        if rows.capacity() == 0 {
            rows.reserve_exact(part_bytes.max(kind.row_bytes()));
        }
        for part in parts {
            rows.extend_from_slice(part);
        }
        if rows.len() + kind.row_bytes() <= part_bytes {
            return Ok(());
        }
        self.hand_over(kind)
    }

    /// Returns the runs of all sorted rows.
    pub fn finish(mut self) -> Result<IndexRuns> {
        for kind in IndexKind::ALL {
            self.hand_over(kind)?;
        }
        self.end_thread()
    }

    /// Sends the rows of an index to the sorting thread, and takes an empty part for the next ones.
    fn hand_over(&mut self, kind: IndexKind) -> Result<()> {
        if let Some((_, rows)) = self.current.iter_mut().find(|(of, _)| *of == kind)
            && let (Ok(empty), Some(full)) = (self.emptied.recv(), &self.full)
            && full.send((kind, std::mem::replace(rows, empty))).is_ok()
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
    to_sort: &Receiver<Part>,
    give_back: &SyncSender<Vec<u8>>,
    mut out: SpillWriter,
) -> Result<IndexRuns> {
    let mut of = IndexKind::ALL.map(|kind| (kind, 0, Vec::new()));
    while let Ok((kind, mut rows)) = to_sort.recv() {
        if let Some((_, count, spans)) = of.iter_mut().find(|(of, _, _)| *of == kind)
            && !rows.is_empty()
        {
            *count += (rows.len() / kind.row_bytes()) as u64;
            spans.push(row_run::write_run(kind, &rows, &mut out)?);
        }
        rows.clear();
        // The receiver is dropped after the last part.
        let _ = give_back.send(rows);
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
    let layout = row_run::layout(kind);
    let merge = Merge::new(&runs.file, spans, layout, memory_bytes)?;
    let mut writer = IndexWriter::new(kind, out.changed());
    let mut meter = Meter::new(progress);
    thread::scope(|scope| {
        let (full, batches) = sync_channel(BATCHES_MAX);
        let reading = thread::Builder::new()
            .name("load-merge".into())
            .spawn_scoped(scope, move || read(merge, &full))?;
        // `write_batches` drops the channel before the join, so an early end also stops the reading
        // thread.
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
                // The writer failed and reports its error.
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

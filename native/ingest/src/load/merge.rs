//! Merges sorted runs into one sequence.

use super::record::{self, HEAD_BYTES};
use super::spill::{Span, SpillFile};
use sys::error::{Error, Result};

/// Minimum size of a read.
const BLOCK_BYTES_MIN: usize = 16 << 10;
const BLOCK_BYTES_MAX: usize = 4 << 20;

/// The record layout of a run and its sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Versions of accounts, sorted by key. Keys are unique.
    Accounts,
    /// Rows of equal length, sorted by their first bytes. The sort is stable.
    Rows {
        row_bytes: usize,
        group_bytes: usize,
    },
}

impl Layout {
    fn key_bytes(self) -> usize {
        match self {
            Layout::Accounts => record::KEY_BYTES,
            Layout::Rows { group_bytes, .. } => group_bytes,
        }
    }

    /// Bytes needed to determine a record's key and length.
    fn head_bytes(self) -> usize {
        match self {
            Layout::Accounts => HEAD_BYTES,
            Layout::Rows { row_bytes, .. } => row_bytes,
        }
    }

    fn record_bytes(self, head: &[u8]) -> Result<usize> {
        match self {
            Layout::Accounts => head
                .first_chunk()
                .map(record::length_at)
                .ok_or_else(cut_off),
            Layout::Rows { row_bytes, .. } => Ok(row_bytes),
        }
    }
}

fn cut_off() -> Error {
    Error::Internal("a sorted run ends within a record".to_string())
}

/// One run, read in blocks.
struct Run {
    file: SpillFile,
    /// The part that is not in `buffer` yet.
    rest: Span,
    buffer: Vec<u8>,
    /// Offset of the current record in `buffer`.
    at: usize,
    block_bytes: usize,
}

impl Run {
    /// Ensures `count` bytes from the start of the current record in the buffer. Returns false at
    /// the end of the run.
    fn ensure(&mut self, count: usize) -> Result<bool> {
        let buffered = self.buffer.len() - self.at;
        if buffered >= count {
            return Ok(true);
        }
        let left = self.rest.end - self.rest.start;
        if buffered as u64 + left < count as u64 {
            return if buffered == 0 && left == 0 {
                Ok(false)
            } else {
                Err(cut_off())
            };
        }
        self.buffer.copy_within(self.at.., 0);
        self.at = 0;
        let wanted = self.block_bytes.max(count) - buffered;
        let read = wanted.min(usize::try_from(left).unwrap_or(usize::MAX));
        self.buffer.resize(buffered + read, 0);
        let into = self.buffer.get_mut(buffered..).ok_or_else(cut_off)?;
        self.file.read_exact_at(into, self.rest.start)?;
        self.rest.start += read as u64;
        Ok(true)
    }

    fn head(&self, count: usize) -> &[u8] {
        let bytes = self.buffer.get(self.at..).unwrap_or_default();
        bytes.get(..count).unwrap_or(bytes)
    }

    /// Skips the current record, which may be only partly in the buffer.
    fn skip(&mut self, count: usize) -> Result<()> {
        let buffered = self.buffer.len() - self.at;
        if count <= buffered {
            self.at += count;
            return Ok(());
        }
        let beyond = (count - buffered) as u64;
        if beyond > self.rest.end - self.rest.start {
            return Err(cut_off());
        }
        self.rest.start += beyond;
        self.buffer.clear();
        self.at = 0;
        Ok(())
    }
}

/// The records of all runs in order. Records with equal keys keep the order of their runs.
pub(super) struct Merge {
    layout: Layout,
    runs: Vec<Run>,
    /// A heap with the next record on top: the first bytes of its key as a number, and its run.
    heap: Vec<(u64, usize)>,
    /// Buffer for a record that is longer than a block.
    long: Vec<u8>,
    /// Bytes of the last returned record.
    current: Option<usize>,
}

impl Merge {
    /// Uses about `memory_bytes` of memory.
    pub fn new(
        file: &SpillFile,
        spans: &[Span],
        layout: Layout,
        memory_bytes: usize,
    ) -> Result<Merge> {
        let block_bytes =
            (memory_bytes / spans.len().max(1)).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        let mut merge = Merge {
            layout,
            runs: Vec::with_capacity(spans.len()),
            heap: Vec::with_capacity(spans.len()),
            long: Vec::new(),
            current: None,
        };
        for span in spans {
            let mut run = Run {
                file: file.clone(),
                rest: *span,
                buffer: Vec::new(),
                at: 0,
                block_bytes,
            };
            if run.ensure(layout.head_bytes())? {
                merge
                    .heap
                    .push((prefix_of(run.head(layout.key_bytes())), merge.runs.len()));
            }
            merge.runs.push(run);
        }
        for node in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(node);
        }
        Ok(merge)
    }

    /// Moves to the next record and returns its key; `None` after the last.
    pub fn next_key(&mut self) -> Result<Option<&[u8]>> {
        if let Some(bytes) = self.current.take() {
            self.advance(bytes)?;
        }
        let Some(&(_, top)) = self.heap.first() else {
            return Ok(None);
        };
        let Some(run) = self.runs.get(top) else {
            return Ok(None);
        };
        let head = run.head(self.layout.head_bytes());
        self.current = Some(self.layout.record_bytes(head)?);
        Ok(head.get(..self.layout.key_bytes()))
    }

    /// Returns the whole record of the last [`Merge::next_key`].
    pub fn record(&mut self) -> Result<&[u8]> {
        let (Some(bytes), Some(&(_, top))) = (self.current, self.heap.first()) else {
            return Err(cut_off());
        };
        let run = self.runs.get_mut(top).ok_or_else(cut_off)?;
        if bytes <= run.block_bytes {
            run.ensure(bytes)?;
            return Ok(run.head(bytes));
        }
        // Buffers that fit the longest account for each run would need unbounded memory.
        let buffered = run.buffer.len() - run.at;
        let from_buffer = buffered.min(bytes);
        self.long.clear();
        self.long.extend_from_slice(run.head(from_buffer));
        self.long.resize(bytes, 0);
        let beyond = self.long.get_mut(from_buffer..).unwrap_or_default();
        if beyond.len() as u64 > run.rest.end - run.rest.start {
            return Err(cut_off());
        }
        run.file.read_exact_at(beyond, run.rest.start)?;
        Ok(&self.long)
    }

    fn advance(&mut self, bytes: usize) -> Result<()> {
        let Some(&(_, top)) = self.heap.first() else {
            return Ok(());
        };
        let run = self.runs.get_mut(top).ok_or_else(cut_off)?;
        run.skip(bytes)?;
        if run.ensure(self.layout.head_bytes())? {
            let prefix = prefix_of(run.head(self.layout.key_bytes()));
            if let Some(first) = self.heap.first_mut() {
                first.0 = prefix;
            }
        } else {
            run.buffer = Vec::new();
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    fn sift_down(&mut self, mut node: usize) {
        loop {
            let mut least = node;
            for child in [2 * node + 1, 2 * node + 2] {
                if child < self.heap.len() && self.is_before(child, least) {
                    least = child;
                }
            }
            if least == node {
                return;
            }
            self.heap.swap(node, least);
            node = least;
        }
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let (Some((prefix_a, a)), Some((prefix_b, b))) = (self.heap.get(a), self.heap.get(b))
        else {
            return false;
        };
        if prefix_a != prefix_b {
            return prefix_a < prefix_b;
        }
        let key = |run: &usize| {
            self.runs
                .get(*run)
                .map_or(&[][..], |run| run.head(self.layout.key_bytes()))
        };
        (key(a), a) < (key(b), b)
    }
}

/// The first bytes of a key as a number with the same order.
pub(super) fn prefix_of(key: &[u8]) -> u64 {
    key.first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

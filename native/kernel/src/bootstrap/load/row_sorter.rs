//! Rows of an index on their way into sorted runs. They come in ascending order of pubkeys and
//! keep it within their group, so only the group is compared.

use super::merge::{Layout, prefix_of};
use super::spill::{Span, SpillWriter};
use crate::error::Result;
use crate::store::IndexKind;

/// The first bytes of a row as a number, and which row it is.
type Entry = (u64, u32);

/// The rows of one index.
pub(super) struct RowSorter {
    kind: IndexKind,
    bytes: Vec<u8>,
    bytes_max: usize,
    spans: Vec<Span>,
    rows: u64,
}

impl RowSorter {
    /// Takes about `memory_bytes`.
    pub fn new(kind: IndexKind, memory_bytes: usize) -> RowSorter {
        let row_bytes = kind.row_bytes();
        let rows = (memory_bytes / (row_bytes + size_of::<Entry>())).clamp(1, u32::MAX as usize);
        RowSorter {
            kind,
            bytes: Vec::new(),
            bytes_max: rows * row_bytes,
            spans: Vec::new(),
            rows: 0,
        }
    }

    pub fn layout(kind: IndexKind) -> Layout {
        Layout::Rows {
            row_bytes: kind.row_bytes(),
            group_bytes: kind.group_bytes(),
        }
    }

    /// Takes whole rows.
    pub fn push(&mut self, rows: &[u8], out: &mut SpillWriter) -> Result<()> {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(self.bytes_max);
        }
        for row in rows.chunks_exact(self.kind.row_bytes()) {
            if self.bytes.len() + row.len() > self.bytes_max {
                self.spill(out)?;
            }
            self.bytes.extend_from_slice(row);
            self.rows += 1;
        }
        Ok(())
    }

    /// Ends the last run. Answers how many rows there are, and where the runs are.
    pub fn finish(mut self, out: &mut SpillWriter) -> Result<(u64, Vec<Span>)> {
        if !self.bytes.is_empty() {
            self.spill(out)?;
        }
        Ok((self.rows, self.spans))
    }

    fn spill(&mut self, out: &mut SpillWriter) -> Result<()> {
        let row_bytes = self.kind.row_bytes();
        let rows = self.bytes.chunks_exact(row_bytes);
        let mut entries: Vec<Entry> = rows.map(prefix_of).zip(0..).collect();
        entries.sort_unstable();
        let row = |(_, index): &Entry| {
            let at = *index as usize * row_bytes;
            self.bytes.get(at..at + row_bytes).unwrap_or_default()
        };
        let group = |entry: &Entry| {
            row(entry)
                .get(..self.kind.group_bytes())
                .unwrap_or_default()
        };
        for alike in entries.chunk_by_mut(|a, b| a.0 == b.0) {
            // Mostly a whole group, and in order already.
            if !alike.is_sorted_by(|a, b| group(a) <= group(b)) {
                alike.sort_by(|a, b| group(a).cmp(group(b)));
            }
        }
        let start = out.position();
        for entry in &entries {
            out.write(row(entry))?;
        }
        self.bytes.clear();
        self.spans.push(out.end_run(start)?);
        Ok(())
    }
}

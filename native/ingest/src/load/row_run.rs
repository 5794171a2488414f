//! Sorted runs of an index's rows. Rows arrive in ascending order of pubkeys and keep that order
//! within their group, so only groups are compared.

use super::merge::{Layout, prefix_of};
use super::spill::{Span, SpillWriter};
use store::IndexKind;
use sys::error::Result;

/// The first bytes of a row as a number, and the row's index.
type Entry = (u64, u32);

/// Sort memory per row, in addition to the row.
pub(super) const ENTRY_BYTES: usize = size_of::<Entry>();

pub(super) fn layout(kind: IndexKind) -> Layout {
    Layout::Rows {
        row_bytes: kind.row_bytes(),
        group_bytes: kind.group_bytes(),
    }
}

/// Sorts at most `u32::MAX` rows and writes them as one run.
pub(super) fn write_run(kind: IndexKind, rows: &[u8], out: &mut SpillWriter) -> Result<Span> {
    let row_bytes = kind.row_bytes();
    let prefixes = rows.chunks_exact(row_bytes).map(prefix_of);
    let mut entries: Vec<Entry> = prefixes.zip(0..).collect();
    entries.sort_unstable();
    let row = |(_, index): &Entry| {
        let at = *index as usize * row_bytes;
        rows.get(at..at + row_bytes).unwrap_or_default()
    };
    let group = |entry: &Entry| row(entry).get(..kind.group_bytes()).unwrap_or_default();
    for alike in entries.chunk_by_mut(|a, b| a.0 == b.0) {
        // Mostly the prefix is the whole group and the rows are already sorted.
        if !alike.is_sorted_by(|a, b| group(a) <= group(b)) {
            alike.sort_by(|a, b| group(a).cmp(group(b)));
        }
    }
    let start = out.position();
    for entry in &entries {
        out.write(row(entry))?;
    }
    out.end_run(start)
}

//! The edge's side of its cells.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sys::error::Result;

use crate::cells::{Cells, SLOT_CELLS};

/// How the files of cells of an edge begin; the rest is the number of their slots.
const PREFIX: &str = "usage-";
/// Where a look at all slots found few free ones, the next one waits this long.
const RESCAN: Duration = Duration::from_millis(100);
/// Of so many slots, fewer than one that is free is few.
const FEW_OF: usize = 16;

/// The files of cells in the folder of an edge.
pub fn files_of(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let ours = names.filter(|name| name.to_string_lossy().starts_with(PREFIX));
    ours.map(|name| dir.join(name)).collect()
}

/// A number that an earlier file of the same name did not reach: it had fewer than 16 slots begun
/// in each millisecond.
fn first_generation() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |since| since.as_millis() as u64 * 16)
}

/// The cells that one edge counts in.
pub struct EdgeCells {
    cells: Cells,
    free: Vec<usize>,
    scanned: Option<Instant>,
}

impl EdgeCells {
    /// Opens the cells in the folder of an edge. What an earlier process of the edge has left open
    /// is closed.
    pub fn open(dir: &Path, slots: usize) -> Result<EdgeCells> {
        let path = dir.join(format!("{PREFIX}{slots}"));
        let cells = Cells::create(&path, slots, first_generation())?;
        for path in files_of(dir) {
            if let Some(left) = Cells::map(&path)? {
                (0..left.slots()).for_each(|slot| left.close(slot));
            }
        }
        Ok(EdgeCells::over(cells))
    }

    /// Cells that end with the process, for an edge whose disk is full.
    pub fn in_memory(slots: usize) -> Result<EdgeCells> {
        Ok(EdgeCells::over(Cells::in_memory(slots)?))
    }

    fn over(cells: Cells) -> EdgeCells {
        EdgeCells {
            cells,
            free: Vec::new(),
            scanned: None,
        }
    }

    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Begins to count for a key; returns the first cell of its slot. `None` where no slot is free.
    pub fn begin(&mut self, kind: usize, minute: f64, key: &str) -> Option<usize> {
        if self.free.is_empty() && self.scanned.is_none_or(|at| at.elapsed() >= RESCAN) {
            let slots = (0..self.cells.slots()).rev();
            self.free = slots.filter(|slot| self.cells.is_free(*slot)).collect();
            let is_few = self.free.len() * FEW_OF < self.cells.slots();
            self.scanned = is_few.then(Instant::now);
        }
        let slot = self.free.pop()?;
        if self.cells.begin(slot, kind, minute, key.as_bytes()) {
            return Some(self.cells.slot_at(slot));
        }
        self.free.push(slot);
        None
    }

    /// Ends to count in the slot that begins at a cell.
    pub fn close(&self, at: usize) {
        self.cells.close(self.slot_of(at));
    }

    /// The cell of the state of this slot.
    pub fn state_at(&self, at: usize) -> usize {
        Cells::state_at(self.slot_of(at))
    }

    fn slot_of(&self, at: usize) -> usize {
        let slot = at.saturating_sub(self.cells.slot_at(0)) / SLOT_CELLS;
        slot.min(self.cells.slots() - 1)
    }
}

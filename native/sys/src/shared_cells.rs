//! A small file of 8-byte cells that every process of the machine maps, for versions and counters
//! that must be visible sooner than a message arrives.

use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;

use crate::allocate::allocate_path;
use crate::error::{Error, Result};

/// Upper bound of cells in a file. Rejects a wrong argument before it uses address space.
pub const CELLS_MAX: usize = 1 << 25;

fn bytes_of(count: usize) -> Result<usize> {
    if count == 0 || count > CELLS_MAX {
        return Err(Error::Internal(format!(
            "{count} shared cells; 1 to {CELLS_MAX} can be mapped"
        )));
    }
    Ok(count * size_of::<f64>())
}

/// The mapping; unmapped on drop.
#[derive(Debug)]
pub struct SharedCells {
    cells: NonNull<f64>,
    count: usize,
}

// SAFETY: the mapping is shared memory that is not bound to a thread.
unsafe impl Send for SharedCells {}
// SAFETY: a shared reference gives the address only.
unsafe impl Sync for SharedCells {}

impl SharedCells {
    /// Maps `count` cells of `path`. Creates the file or extends it with zeros if needed. All of it
    /// is on disk: a full disk is an error here, and no signal at a later write.
    pub fn open(path: &Path, count: usize) -> Result<SharedCells> {
        let bytes = bytes_of(count)?;
        let file = allocate_path(path, bytes as u64)?;
        SharedCells::map(libc::MAP_SHARED, file.as_raw_fd(), count)
    }

    /// Cells of zeros that no other process has and no file keeps.
    pub fn anonymous(count: usize) -> Result<SharedCells> {
        bytes_of(count)?;
        SharedCells::map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, count)
    }

    fn map(flags: libc::c_int, file: libc::c_int, count: usize) -> Result<SharedCells> {
        let bytes = bytes_of(count)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping of an open file that is at least `bytes` long, or of none; the
        // result is checked.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, file, 0) };
        if address == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error().into());
        }
        match NonNull::new(address.cast::<f64>()) {
            Some(cells) => Ok(SharedCells { cells, count }),
            None => Err(Error::Internal("mmap answered address 0".into())),
        }
    }

    /// Pointer to the first cell, and the number of cells. An aligned 8-byte load or store is a
    /// single access on every supported target.
    pub fn as_raw(&self) -> (*mut f64, usize) {
        (self.cells.as_ptr(), self.count)
    }

    /// Whether these are cells of the mapping, one at least.
    pub fn contains(&self, first: *const f64, count: usize) -> bool {
        let (begin, first) = (self.cells.as_ptr() as usize, first as usize);
        let bytes = (self.count * size_of::<f64>()) as u128;
        let offset = first.checked_sub(begin).map(|offset| offset as u128);
        count > 0
            && offset.is_some_and(|offset| {
                offset.is_multiple_of(size_of::<f64>() as u128)
                    && offset + (count as u128) * (size_of::<f64>() as u128) <= bytes
            })
    }
}

impl Drop for SharedCells {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `open` mapped, unmapped once.
        unsafe { libc::munmap(self.cells.as_ptr().cast(), self.count * size_of::<f64>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_of_a_file_share_writes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cells");
        let one = SharedCells::open(&path, 4).unwrap();
        let two = SharedCells::open(&path, 8).unwrap();
        let cell = |cells: &SharedCells| cells.as_raw().0.wrapping_add(3);
        // SAFETY: cell 3 is inside the mapping.
        unsafe { cell(&one).write(7.0) };
        // SAFETY: cell 3 is inside the mapping.
        assert_eq!(unsafe { cell(&two).read() }, 7.0);
        assert!(SharedCells::open(&path, 0).is_err());
    }

    #[test]
    fn a_mapping_knows_its_cells() {
        let dir = tempfile::tempdir().unwrap();
        let cells = SharedCells::open(&dir.path().join("cells"), 4).unwrap();
        let (first, count) = cells.as_raw();
        let at = |cell: usize| first.wrapping_add(cell);
        assert!(cells.contains(first, count) && cells.contains(at(3), 1));
        for (first, count) in [
            (first, 0),
            (first, 5),
            (at(1), 4),
            (at(4), 1),
            (first, usize::MAX),
        ] {
            assert!(!cells.contains(first, count), "{first:?} {count}");
        }
        assert!(!cells.contains(first.wrapping_sub(1), 2));
        assert!(!cells.contains(first.wrapping_byte_add(4), 1));
    }
}

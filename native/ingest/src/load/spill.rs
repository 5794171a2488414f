//! Sorted runs on disk, in one file. Unless it is kept, it has no name, and the system deletes it
//! when the process ends.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use store::disk_space::keep_reserve;
use sys::error::{Error, Result};

const WRITE_BYTES: usize = 1 << 20;
/// Bytes written between two checks of free disk space.
const RESERVE_EVERY_BYTES: u64 = 64 << 20;

/// The range of a run in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Span {
    pub start: u64,
    pub end: u64,
}

/// Reads runs.
#[derive(Debug, Clone)]
pub(super) struct SpillFile {
    file: Arc<File>,
    dir: Arc<PathBuf>,
}

/// Writes runs sequentially.
pub(super) struct SpillWriter {
    spill: SpillFile,
    out: BufWriter<Arc<File>>,
    at: u64,
    looked_at: u64,
    reserve_bytes: u64,
}

impl SpillWriter {
    /// Creates the file in a folder, without a name.
    pub fn create(dir: &Path, name: &str, reserve_bytes: u64) -> Result<SpillWriter> {
        let writer = SpillWriter::keep(dir, name, 0, reserve_bytes)?;
        fs::remove_file(dir.join(name)).map_err(|error| failed(dir, &error))?;
        Ok(writer)
    }

    /// Opens or creates the file in a folder, to continue after its first `at` bytes, which it must
    /// have. What is after them is removed.
    pub fn keep(dir: &Path, name: &str, at: u64, reserve_bytes: u64) -> Result<SpillWriter> {
        let explained = |error: io::Error| failed(dir, &error);
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(dir.join(name))
            .map_err(explained)?;
        keep_reserve(dir, reserve_bytes)?;
        let file = Arc::new(file);
        let mut writer = SpillWriter {
            out: BufWriter::with_capacity(WRITE_BYTES, Arc::clone(&file)),
            spill: SpillFile {
                file,
                dir: Arc::new(dir.to_path_buf()),
            },
            at,
            looked_at: at,
            reserve_bytes,
        };
        writer.rewind(at)?;
        Ok(writer)
    }

    /// Removes what is after the first `at` bytes, which are written.
    pub fn rewind(&mut self, at: u64) -> Result<()> {
        let spill = &self.spill;
        let explained = |error| failed(&spill.dir, &error);
        self.out.flush().map_err(explained)?;
        spill.file.set_len(at).map_err(explained)?;
        (&*spill.file)
            .seek(SeekFrom::Start(at))
            .map_err(explained)?;
        (self.at, self.looked_at) = (at, at);
        Ok(())
    }

    pub fn file(&self) -> SpillFile {
        self.spill.clone()
    }

    /// Bytes written so far.
    pub fn position(&self) -> u64 {
        self.at
    }

    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let spill = &self.spill;
        self.out
            .write_all(bytes)
            .map_err(|error| failed(&spill.dir, &error))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Ends a run that began at `start`.
    pub fn end_run(&mut self, start: u64) -> Result<Span> {
        let spill = &self.spill;
        self.out
            .flush()
            .map_err(|error| failed(&spill.dir, &error))?;
        if self.at - self.looked_at >= RESERVE_EVERY_BYTES {
            self.looked_at = self.at;
            keep_reserve(&self.spill.dir, self.reserve_bytes)?;
        }
        Ok(Span {
            start,
            end: self.at,
        })
    }
}

impl SpillFile {
    /// Waits until what is written is on the disk.
    pub fn sync(&self) -> Result<()> {
        self.file
            .sync_data()
            .map_err(|error| failed(&self.dir, &error))
    }

    /// Fills `buffer` from an offset of the file.
    pub fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> Result<()> {
        self.file
            .read_exact_at(buffer, at)
            .map_err(|error| failed(&self.dir, &error))
    }
}

fn failed(dir: &Path, error: &io::Error) -> Error {
    Error::LoadFailed(format!(
        "the sorted runs in {} cannot be written or read: {error}",
        dir.display()
    ))
}

//! A copy of a store that is in use.

use std::fs::File;
use std::path::Path;

use heed::CompactionOption;

use super::open::Store;
use sys::error::Result;

impl Store {
    /// Writes the store as of its last commit into a new file, without the pages that are free, and
    /// waits for the disk. Blocks are applied meanwhile; the pages that they free cannot be reused
    /// before this ends. What it leaves behind when it fails is the caller's to remove.
    pub fn copy_to(&self, path: &Path) -> Result<()> {
        let mut file = File::options().write(true).create_new(true).open(path)?;
        self.env
            .copy_to_file(&mut file, CompactionOption::Enabled)?;
        Ok(file.sync_all()?)
    }
}

//! Copies a store that is in use.

use std::fs::File;
use std::path::Path;

use heed::CompactionOption;

use crate::store::Store;
use sys::error::Result;

impl Store {
    /// Writes the store as of its last commit to a new file, without the free pages, and syncs it.
    /// Blocks may be applied during the copy; the pages they free cannot be reused before it ends.
    /// The caller removes the incomplete file after a failure.
    pub fn copy_to(&self, path: &Path) -> Result<()> {
        let mut file = File::options().write(true).create_new(true).open(path)?;
        self.env
            .copy_to_file(&mut file, CompactionOption::Enabled)?;
        Ok(file.sync_all()?)
    }
}

//! The segment files of a store: `feed/` in its folder, one file for each number.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Hexadecimal digits of a number in the name of its file.
const DIGITS: usize = 16;

pub(crate) fn dir_of(store: &Path) -> PathBuf {
    store.join("feed")
}

pub(crate) fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:0DIGITS$x}"))
}

/// The numbers of the segments in a folder, in ascending order; none if there is no folder.
pub(crate) fn numbers(dir: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = match fs::read_dir(dir) {
        Ok(files) => files
            .map(|file| Ok(number_of(&file?.file_name())))
            .filter_map(io::Result::transpose)
            .collect::<io::Result<Vec<u64>>>()?,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    numbers.sort_unstable();
    Ok(numbers)
}

fn number_of(name: &OsStr) -> Option<u64> {
    let name = name.to_str().filter(|name| name.len() == DIGITS)?;
    u64::from_str_radix(name, 16).ok()
}

/// Removes a segment, if it is there. Readers that map it keep it until they have read.
pub(crate) fn remove(dir: &Path, number: u64) -> io::Result<()> {
    match fs::remove_file(path_of(dir, number)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

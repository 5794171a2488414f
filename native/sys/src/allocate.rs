//! Disk blocks of files that are mapped for writing. A store into a page for which a full disk has
//! no block ends the process by SIGBUS, so the blocks are allocated before the file is mapped.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::error::{Error, Result};

/// Unit of `st_blocks`.
const BLOCK_BYTES: u64 = 512;

/// What a write of zeros extends a file by at a time.
const ZEROS: [u8; 4096] = [0; 4096];

/// Opens a file to be mapped, after its first `bytes` bytes have disk blocks. Creates it if needed.
pub fn allocate_path(path: &Path, bytes: u64) -> Result<File> {
    let open = || -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true).mode(0o600);
        let file = options.open(path)?;
        allocate(&file, bytes)?;
        Ok(file)
    };
    open().map_err(|error| Error::Internal(format!("{}: {error}", path.display())))
}

/// Allocates disk blocks for the first `bytes` bytes of a file, and extends it with zeros where it
/// is shorter. Bytes that it has stay. The file must be open to append, so that an extension never
/// overwrites what another process has written meanwhile.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    // Some file systems ask for free blocks even where a file has all of its own: another process
    // must be able to map an existing file while the disk is full.
    let found = file.metadata()?;
    if found.len() >= bytes && found.blocks().saturating_mul(BLOCK_BYTES) >= bytes {
        return Ok(());
    }
    let length = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
    loop {
        // SAFETY: the file is open and the other arguments are integers. Its bytes do not change.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // A file system without allocation.
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => return extend(file, bytes),
            _ => return Err(error),
        }
    }
}

/// Writes zeros behind the end of a file. Two processes at the same time make it longer than asked.
fn extend(mut file: &File, bytes: u64) -> io::Result<()> {
    let mut missing = bytes.saturating_sub(file.metadata()?.len());
    while missing > 0 {
        let chunk = ZEROS
            .len()
            .min(usize::try_from(missing).unwrap_or(ZEROS.len()));
        file.write_all(&ZEROS[..chunk])?;
        missing -= chunk as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};

    #[test]
    fn a_file_is_extended_without_a_hole_and_keeps_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        for (name, extend_by) in [
            ("allocated", allocate as fn(&File, u64) -> _),
            ("written", extend),
        ] {
            let path = dir.path().join(name);
            let open = || {
                OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(&path)
                    .unwrap()
            };
            fs::write(&path, b"kept").unwrap();
            extend_by(&open(), 100_000).unwrap();
            let found = fs::metadata(&path).unwrap();
            assert_eq!(found.len(), 100_000, "{name}");
            assert!(found.blocks() * BLOCK_BYTES >= 100_000, "{name}");
            extend_by(&open(), 10).unwrap();
            let bytes = fs::read(&path).unwrap();
            assert!(
                bytes.starts_with(b"kept\0") && bytes.len() == 100_000,
                "{name}"
            );
        }
    }

    #[test]
    fn holes_of_a_file_are_filled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        file.set_len(1 << 20).unwrap();
        assert!(file.metadata().unwrap().blocks() * BLOCK_BYTES < 1 << 20);
        allocate(&file, 1 << 20).unwrap();
        assert!(file.metadata().unwrap().blocks() * BLOCK_BYTES >= 1 << 20);
    }

    #[test]
    fn a_disk_without_room_is_an_error() {
        let file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        assert!(allocate(&file, 10).is_err());
        assert!(extend(&file, 10).is_err());
    }
}

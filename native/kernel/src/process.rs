//! What a process asks of the operating system: to end with its parent, and to hold a lock for life.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::error::{Error, Result};

/// Has the kernel send SIGKILL to this process when the thread that started it ends, and says whether the
/// parent still is `parent` (it may have ended before the request).
pub fn die_with_parent(parent: u32) -> Result<bool> {
    // SAFETY: prctl with PR_SET_PDEATHSIG and getppid take and return plain integers.
    let (status, parent_now) = unsafe {
        (
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL),
            libc::getppid(),
        )
    };
    if status != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(u32::try_from(parent_now).is_ok_and(|now| now == parent))
}

/// A lock file that is held until the process ends; the operating system lets it go even after kill -9.
#[derive(Debug)]
pub struct LockFile {
    _file: File,
}

impl LockFile {
    /// `None` where another process holds it.
    pub fn take(path: &Path) -> Result<Option<LockFile>> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        // SAFETY: the descriptor is open for as long as `file` lives.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(Some(LockFile { _file: file }));
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EWOULDBLOCK) => Ok(None),
            _ => Err(Error::Internal(format!("{}: {error}", path.display()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = LockFile::take(&path).unwrap();
        assert!(held.is_some());
        assert!(LockFile::take(&path).unwrap().is_none());
        drop(held);
        assert!(LockFile::take(&path).unwrap().is_some());
    }
}

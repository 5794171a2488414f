//! Reserves disk space. On a full disk, writing to a mapped page without allocated blocks kills the
//! process, so blocks are allocated beforehand.

use std::ffi::CString;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sys::allocate::allocate;
use sys::error::{Error, Result};

/// An upper bound for the files of an empty store: the first pages and the reader slots.
const FIRST_BYTES: u64 = 1 << 20;

/// Fails if the disk of this folder has less free space than the reserve.
pub fn keep_reserve(dir: &Path, reserve_bytes: u64) -> Result<()> {
    let free_bytes = free_bytes(dir)?;
    if free_bytes < reserve_bytes {
        return Err(Error::DiskReserve(free_bytes));
    }
    Ok(())
}

/// Fails if a new store's files would not fit: LMDB maps its lock file before its blocks are
/// allocated.
pub(super) fn before_opening(dir: &Path) -> Result<()> {
    if dir.join("lock.mdb").exists() && dir.join("data.mdb").exists() {
        return Ok(());
    }
    let free_bytes = free_bytes(dir)?;
    if free_bytes < FIRST_BYTES {
        return Err(Error::StoreStopped(format!(
            "cannot be begun: its disk has {free_bytes} bytes free, free some"
        )));
    }
    Ok(())
}

/// Allocates disk blocks for all reader slots: a thread claims a slot at its first read, when the
/// disk may be full. The file stays open: closing any descriptor of it releases LMDB's locks.
pub(super) fn for_readers(lock_file: &File) -> Result<()> {
    let bytes = lock_file.metadata()?.len();
    allocate(lock_file, bytes).map_err(|error| heed::Error::Io(error).into())
}

pub(crate) fn free_bytes(dir: &Path) -> Result<u64> {
    let path = CString::new(dir.as_os_str().as_bytes())
        .map_err(|_| Error::Internal("the store's path holds a zero byte".to_string()))?;
    let mut stats = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `path` ends in a zero byte and `stats` is large enough for what is written.
    if unsafe { libc::statvfs(path.as_ptr(), stats.as_mut_ptr()) } != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    // SAFETY: statvfs answered 0, so it filled the structure.
    let stats = unsafe { stats.assume_init() };
    Ok(stats.f_bavail.saturating_mul(stats.f_frsize))
}

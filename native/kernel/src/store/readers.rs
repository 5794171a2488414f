//! Who is reading: LMDB's table of readers, from the lock file. `heed` does not pass this part of
//! LMDB on.

use std::fs::File;
use std::mem::size_of;
use std::os::unix::fs::FileExt;

use crate::error::Result;

/// LMDB pads its shared structures to this.
const CACHE_LINE: usize = 64;
/// A slot without a transaction.
const IDLE: u64 = u64::MAX;

const fn padded(bytes: usize) -> usize {
    bytes.div_ceil(CACHE_LINE) * CACHE_LINE
}

/// The transaction that each open read began at. `slots` is LMDB's count of slots ever used.
pub(super) fn open_at(lock_file: &File, slots: u32) -> Result<Vec<u64>> {
    // Two headers, each with a mutex; then one line per reader: transaction, process, thread.
    let mutex = size_of::<libc::pthread_mutex_t>();
    let start = padded(24 + mutex) + padded(mutex);
    let mut lines = vec![0; slots as usize * CACHE_LINE];
    lock_file.read_exact_at(&mut lines, start as u64)?;
    let open = lines.chunks_exact(CACHE_LINE).filter_map(|line| {
        let (txn, rest) = line.split_first_chunk()?;
        let (pid, _) = rest.split_first_chunk()?;
        let txn = u64::from_ne_bytes(*txn);
        (i32::from_ne_bytes(*pid) != 0 && txn != IDLE).then_some(txn)
    });
    Ok(open.collect())
}

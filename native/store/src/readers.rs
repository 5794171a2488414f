//! Lists the open reads from LMDB's reader table in the lock file. `heed` does not expose this part
//! of LMDB.

use std::fs::File;
use std::mem::size_of;
use std::os::unix::fs::FileExt;

use sys::error::Result;

/// LMDB pads its shared structures to this size.
const CACHE_LINE: usize = 64;
/// The transaction id of a slot without a transaction.
const IDLE: u64 = u64::MAX;

/// An open read transaction of any process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRead {
    pub process_id: i32,
    /// LMDB's thread id. A thread has one read at a time.
    pub thread: u64,
    /// The last commit that it sees.
    pub transaction: u64,
}

const fn padded(bytes: usize) -> usize {
    bytes.div_ceil(CACHE_LINE) * CACHE_LINE
}

/// All open reads. `slots` is LMDB's count of slots ever used.
pub(super) fn open_reads(lock_file: &File, slots: u32) -> Result<Vec<OpenRead>> {
    // Two headers, each with a mutex, then one cache line per reader: transaction, process, thread.
    let mutex = size_of::<libc::pthread_mutex_t>();
    let start = padded(24 + mutex) + padded(mutex);
    let mut lines = vec![0; slots as usize * CACHE_LINE];
    lock_file.read_exact_at(&mut lines, start as u64)?;
    let open = lines.chunks_exact(CACHE_LINE).filter_map(|line| {
        let (transaction, rest) = line.split_first_chunk()?;
        let (process_id, rest) = rest.split_first_chunk()?;
        // The thread id is a machine word, aligned to its size.
        let thread = rest.get(4..)?.first_chunk()?;
        let read = OpenRead {
            process_id: i32::from_ne_bytes(*process_id),
            thread: u64::from_ne_bytes(*thread),
            transaction: u64::from_ne_bytes(*transaction),
        };
        (read.process_id != 0 && read.transaction != IDLE).then_some(read)
    });
    Ok(open.collect())
}

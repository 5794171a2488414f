//! Runs the writer of changes beside that of the indexes.

use std::{io, thread};

use crate::rows::record::Block;
use sys::error::{Error, Result};

/// Beyond, what changed is compressed and written beside the indexes.
const LARGE_BYTES: usize = 256 * 1024;
/// Bytes of a transaction's change, about.
const TRANSACTION_BYTES: usize = 2_000;

/// Whether the changes of blocks take long enough to be compressed and written on a second thread.
pub(crate) fn is_large(blocks: &[&Block]) -> bool {
    let accounts = blocks.iter().flat_map(|block| &block.accounts);
    let bytes: usize = accounts.map(|update| update.data.len()).sum();
    let transactions = blocks.iter().map(|block| block.transactions.len());
    bytes + transactions.sum::<usize>() * TRANSACTION_BYTES > LARGE_BYTES
}

/// Runs work with the files of changes beside `rest`, on a thread of its own if that is worth it,
/// and returns its result.
pub(crate) fn beside<T: Send>(
    is_long: bool,
    work: impl FnOnce() -> io::Result<T> + Send,
    rest: impl FnOnce() -> Result<()>,
) -> Result<T> {
    let done = if is_long {
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("feed-write".into());
            let working = thread.spawn_scoped(scope, work)?;
            rest()?;
            let panicked = |_| Error::Internal("the writer of the feed panicked".to_string());
            working.join().map_err(panicked)
        })?
    } else {
        let done = work();
        rest()?;
        done
    };
    Ok(done.map_err(heed::Error::Io)?)
}

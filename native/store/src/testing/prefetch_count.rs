//! Counts the records that walks of this thread prefetched.

use std::cell::Cell;

thread_local! {
    static FOUND: Cell<usize> = const { Cell::new(0) };
}

pub(crate) fn count(values: &[Option<&[u8]>]) {
    FOUND.set(FOUND.get() + values.iter().flatten().count());
}

/// Records found by the walks of this thread since the last call.
pub fn take_found() -> usize {
    FOUND.take()
}

//! Counts the records that this thread's walks prefetched.

use std::cell::Cell;

thread_local! {
    static FOUND: Cell<usize> = const { Cell::new(0) };
}

pub(crate) fn count(values: &[Option<&[u8]>]) {
    FOUND.set(FOUND.get() + values.iter().flatten().count());
}

/// Returns and resets the number of records that this thread's walks found.
pub fn take_found() -> usize {
    FOUND.take()
}

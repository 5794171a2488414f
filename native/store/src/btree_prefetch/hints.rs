//! Prefetch instructions.

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// Prefetches the cache line at `at`; reads nothing.
#[inline]
pub(crate) fn prefetch(value: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if at < value.len() {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is valid for any address and has no effect visible to the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(value.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, at);
}

/// Prefetches the cache lines of `bytes` bytes from `at` on.
#[inline]
pub(crate) fn prefetch_run(value: &[u8], at: usize, bytes: usize) {
    let end = at.saturating_add(bytes).min(value.len());
    for line in (at..end).step_by(LINE_BYTES) {
        prefetch(value, line);
    }
    prefetch(value, end.saturating_sub(1));
}

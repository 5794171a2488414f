//! Reused chunks of replies. Growing one buffer for a page copies it several times, and buffers of
//! many sizes fragment the heap of the allocator.

use std::sync::PoisonError;

use super::sync::{Mutex, MutexGuard};

/// Bytes at which a chunk is complete. What is being written then may exceed it.
pub const CHUNK_BYTES: usize = 256 * 1024;
/// A chunk and most rows that begin within it.
const CAPACITY_BYTES: usize = CHUNK_BYTES + 32 * 1024;
/// A chunk that a large row has made larger is not kept.
const KEPT_BYTES_MAX: usize = 2 * CHUNK_BYTES;
/// Unused chunks: 18 MiB, those of one of the largest pages.
const SPARE_MAX: usize = 64;

/// Unused chunks of a process.
#[derive(Default)]
pub struct ChunkPool {
    spare: Mutex<Vec<Vec<u8>>>,
}

impl ChunkPool {
    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty chunk.
    pub fn take(&self) -> Vec<u8> {
        let spare = self.lock().pop();
        spare.unwrap_or_else(|| Vec::with_capacity(CAPACITY_BYTES))
    }

    /// Keeps the chunk for later use, or frees it.
    pub fn give_back(&self, mut chunk: Vec<u8>) {
        if !(CAPACITY_BYTES..=KEPT_BYTES_MAX).contains(&chunk.capacity()) {
            return;
        }
        chunk.clear();
        let mut spare = self.lock();
        if spare.len() < SPARE_MAX {
            spare.push(chunk);
        }
    }

    /// The same bytes in a chunk of at most twice their length: the budget of replies in flight
    /// counts lengths.
    pub fn fit(&self, chunk: Vec<u8>) -> Vec<u8> {
        if chunk.len() >= chunk.capacity() / 2 {
            return chunk;
        }
        let fitting = chunk.as_slice().to_vec();
        self.give_back(chunk);
        fitting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_used_again() {
        let pool = ChunkPool::default();
        let mut chunk = pool.take();
        chunk.resize(CHUNK_BYTES, 1);
        let address = chunk.as_ptr();
        pool.give_back(chunk);
        let again = pool.take();
        assert_eq!((again.as_ptr(), again.len()), (address, 0));
    }

    #[test]
    fn chunks_of_other_sizes_and_too_many_are_freed() {
        let pool = ChunkPool::default();
        for bytes in [0, 1, CHUNK_BYTES, KEPT_BYTES_MAX + 1] {
            pool.give_back(Vec::with_capacity(bytes));
        }
        assert_eq!(pool.lock().len(), 0);
        for chunk in (0..=SPARE_MAX).map(|_| pool.take()).collect::<Vec<_>>() {
            pool.give_back(chunk);
        }
        assert_eq!(pool.lock().len(), SPARE_MAX);
    }

    #[test]
    fn few_bytes_do_not_hold_a_chunk() {
        let pool = ChunkPool::default();
        let mut chunk = pool.take();
        chunk.extend_from_slice(b"few");
        let fitting = pool.fit(chunk);
        assert_eq!(fitting, b"few");
        assert!(fitting.capacity() < 8);
        assert_eq!(pool.lock().len(), 1);
        let full = vec![1; CHUNK_BYTES];
        let address = full.as_ptr();
        let kept = pool.fit(full);
        assert_eq!(kept.as_ptr(), address);
    }
}

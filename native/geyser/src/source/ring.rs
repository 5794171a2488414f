//! What a source has sent of late: the one queue of all streams that pass it on.

use std::collections::VecDeque;
use std::sync::Arc;

use tonic::Status;

use super::batch::Batch;
use crate::status::{interrupted, lagged, no_call, unreachable};

/// Bytes of a ring. The largest message fits beside it.
pub const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of an entry beside its batch.
const ENTRY_BYTES: usize = 64;

/// Why what follows does not continue what was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After this slot; updates are missing.
    Interrupted(u64),
    /// The same, because the index needs the source for itself.
    Yielded(u64),
    Unreachable,
    /// The source has no such call.
    NoCall,
}

impl End {
    pub fn status(self) -> Status {
        match self {
            End::Interrupted(slot) | End::Yielded(slot) => interrupted(slot),
            End::Unreachable => unreachable(),
            End::NoCall => no_call(),
        }
    }
}

#[derive(Debug, Clone)]
pub enum Entry {
    Batch(Arc<Batch>),
    End(End),
}

impl Entry {
    fn byte_count(&self) -> usize {
        match self {
            Entry::Batch(batch) => batch.content.byte_count() + ENTRY_BYTES,
            Entry::End(_) => ENTRY_BYTES,
        }
    }
}

/// The newest entries. Each has a number, which is one more than that of the entry before.
#[derive(Debug, Default)]
pub struct Ring {
    /// With the bytes that were counted.
    entries: VecDeque<(Entry, usize)>,
    /// The number of the first one.
    first: u64,
    bytes: usize,
}

impl Ring {
    /// The number of the next entry.
    pub fn tail(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    pub fn byte_count(&self) -> usize {
        self.bytes
    }

    pub fn push(&mut self, entry: Entry) {
        let bytes = entry.byte_count();
        self.bytes += bytes;
        self.entries.push_back((entry, bytes));
        while self.bytes > BYTES_MAX && self.entries.len() > 1 {
            self.forget_first();
        }
    }

    /// Keeps nothing: there is nobody left to read it.
    pub fn clear(&mut self) {
        while !self.entries.is_empty() {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((_, bytes)) = self.entries.pop_front() {
            self.bytes -= bytes;
            self.first += 1;
        }
    }

    /// The entry of a number; `None` before it has come. Fails if it is no longer kept.
    pub fn get(&self, number: u64) -> Result<Option<Entry>, Status> {
        let index = number.checked_sub(self.first).ok_or_else(lagged)?;
        let entry = self.entries.get(index as usize);
        Ok(entry.map(|(entry, _)| entry.clone()))
    }
}

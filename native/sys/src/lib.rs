//! Operating system services for the other crates: errors, thread pools, locks, shared memory.

#![deny(clippy::all)]

pub mod error;
pub mod pool;
pub mod process;
pub mod shared_cells;

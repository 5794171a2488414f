//! What the other crates need of the operating system: errors, thread pools, locks, memory shared
//! by processes.

#![deny(clippy::all)]

pub mod error;
pub mod pool;
pub mod process;
pub mod shared_cells;

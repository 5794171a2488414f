//! Operating system services for the other crates: errors, thread pools, locks, shared memory.

#![deny(clippy::all)]

pub mod allocate;
pub mod backoff;
pub mod boot_clock;
pub mod datagram;
pub mod error;
pub mod listener;
pub mod loop_queue;
pub mod mapped_range;
pub mod pool;
pub mod process;
pub mod service_manager;
pub mod shared_cells;
pub mod shares;
pub mod turns;

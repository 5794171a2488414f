//! The locks of a reply, or in its model those of a scheduler that tries the orders of its steps.

#[cfg(feature = "model")]
pub use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(feature = "model"))]
pub use std::sync::{Condvar, Mutex, MutexGuard};

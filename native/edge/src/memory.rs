//! The words of the limit table: shared with other processes, or in its model with other threads of
//! a scheduler that tries their orders. Miri maps no files.

#[cfg(any(feature = "model", miri))]
pub use self::owned::*;
#[cfg(not(any(feature = "model", miri)))]
pub use self::shared::*;

#[cfg(not(any(feature = "model", miri)))]
mod shared {
    pub use std::hint::spin_loop;
    use std::path::Path;
    use std::slice;
    pub use std::sync::atomic::AtomicI64;

    use sys::error::Result;
    use sys::shared_cells::SharedCells;

    /// A mapped file.
    pub struct Memory(SharedCells);

    impl Memory {
        pub fn open(path: &Path, count: usize) -> Result<Memory> {
            SharedCells::open(path, count).map(Memory)
        }

        pub fn words(&self) -> &[AtomicI64] {
            let (first, count) = self.0.as_raw();
            // SAFETY: `count` aligned cells that are mapped as long as this lives. Every process
            // maps the file by this type, which gives atomic words only.
            unsafe { slice::from_raw_parts(first.cast(), count) }
        }
    }
}

#[cfg(any(feature = "model", miri))]
mod owned {
    #[cfg(feature = "model")]
    pub use shuttle::{hint::spin_loop, sync::atomic::AtomicI64};
    #[cfg(not(feature = "model"))]
    pub use std::{hint::spin_loop, sync::atomic::AtomicI64};

    pub struct Memory(Vec<AtomicI64>);

    impl Memory {
        pub fn new(count: usize) -> Memory {
            Memory((0..count).map(|_| AtomicI64::new(0)).collect())
        }

        pub fn words(&self) -> &[AtomicI64] {
            &self.0
        }
    }
}

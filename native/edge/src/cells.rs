//! Memory that JavaScript and other processes change too: 8-byte cells, read and written only by
//! atomic operations.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicI64};

/// Cells that live as long as their owner, which this holds.
pub struct Cells {
    first: NonNull<AtomicI64>,
    count: usize,
    _owner: Box<dyn Any>,
}

impl Cells {
    /// `None` where the address is null or not aligned.
    ///
    /// # Safety
    ///
    /// `first` must point at `count` cells of 8 bytes that stay where they are as long as `owner`
    /// lives, and that this thread's other code changes only while no method of this runs.
    pub unsafe fn new(first: *mut f64, count: usize, owner: Box<dyn Any>) -> Option<Cells> {
        let first = NonNull::new(first.cast::<AtomicI64>())?;
        first.is_aligned().then_some(Cells {
            first,
            count,
            _owner: owner,
        })
    }

    /// A cell as 64 bits.
    pub fn word(&self, index: usize) -> Option<&AtomicI64> {
        if index >= self.count {
            return None;
        }
        // SAFETY: the index is inside the cells.
        let cell = unsafe { self.first.add(index) };
        // SAFETY: aligned and alive as long as the owner; changed by atomic operations only.
        Some(unsafe { cell.as_ref() })
    }

    /// Half a cell as 32 bits.
    pub fn half(&self, index: usize) -> Option<&AtomicI32> {
        if index >= self.count * 2 {
            return None;
        }
        // SAFETY: the index is inside the cells.
        let half = unsafe { self.first.cast::<AtomicI32>().add(index) };
        // SAFETY: aligned and alive as long as the owner; changed by atomic operations only.
        Some(unsafe { half.as_ref() })
    }
}

/// Memory that no box owns while it is used: to move a box ends what points into it.
#[cfg(all(test, not(feature = "model")))]
struct Memory(*mut [f64]);

#[cfg(all(test, not(feature = "model")))]
impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`, and dropped once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

#[cfg(all(test, not(feature = "model")))]
pub fn owned(count: usize) -> Cells {
    let memory = Box::into_raw(vec![0.0_f64; count].into_boxed_slice());
    // SAFETY: the slice does not move, and is freed with its owner.
    unsafe { Cells::new(memory.cast(), count, Box::new(Memory(memory))) }.unwrap()
}

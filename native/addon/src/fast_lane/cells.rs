//! Shared cells for JavaScript, and for native code that reads them later.
//!
//! JavaScript may detach the array of a mapping. Native code therefore keeps the mapping itself.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use ::sys::error::Result;
use ::sys::shared_cells::SharedCells;
use edge::Cells;
use napi::bindgen_prelude::Float64Array;

use crate::arguments::wrong;

/// The mappings that exist.
static MAPPINGS: Mutex<Vec<Weak<SharedCells>>> = Mutex::new(Vec::new());

/// Maps `count` cells of a file as an array.
pub fn map(path: &str, count: usize) -> Result<Float64Array> {
    Ok(array_of(Arc::new(SharedCells::open(path.as_ref(), count)?)))
}

/// The cells of a mapping as an array.
pub fn array_of(cells: Arc<SharedCells>) -> Float64Array {
    let mut mappings = MAPPINGS.lock().unwrap_or_else(PoisonError::into_inner);
    mappings.retain(|mapping| mapping.strong_count() > 0);
    mappings.push(Arc::downgrade(&cells));
    drop(mappings);
    let (address, count) = cells.as_raw();
    // SAFETY: the mapping lives until the finaliser drops it, and is `count` cells long.
    unsafe { Float64Array::with_external_data(address, count, move |_, _| drop(cells)) }
}

/// The cells of an array that `map` made, or of a part of it.
pub fn of(mut array: Float64Array) -> Result<Cells> {
    let count = array.len();
    // SAFETY: only the address is taken.
    let first = unsafe { array.as_mut() }.as_mut_ptr();
    let mappings = MAPPINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut alive = mappings.iter().filter_map(Weak::upgrade);
    let mapping = alive.find(|mapping| mapping.contains(first, count));
    let mapping = mapping.ok_or_else(|| wrong("cells must be shared cells"))?;
    // SAFETY: the cells are inside the mapping, which does not move and lives as long as the
    // owner; this thread runs one thing at a time.
    unsafe { Cells::new(first, count, Box::new(mapping)) }.ok_or_else(|| wrong("cells"))
}

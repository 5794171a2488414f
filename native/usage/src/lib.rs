//! What edges count: cells that an edge writes and that outlive it, and the store that every
//! closed row of them is added to exactly once.

#![deny(clippy::all)]

mod cells;
mod counts;
mod live;
mod reader;
mod recorder;
mod schema;
#[cfg(test)]
mod tests;

pub use cells::{CODES, CODES_AT, Cells, FIGURES, FIGURES_AT, LATENCIES, LATENCIES_AT};
pub use live::EdgeCells;
pub use reader::{Bounds, Reader};
pub use recorder::Recorder;
pub use schema::{Schema, Table};

//! Loads versions of accounts into a new store. They come in any order and may exceed memory, so
//! they are sorted on disk. The newest version of each account is kept, and every table is written
//! sequentially.

mod account_sorter;
mod build;
mod checkpoint;
#[cfg(test)]
mod checkpoint_tests;
mod estimate;
mod from_archive;
mod indexes;
mod latest;
mod loader;
mod merge;
mod meter;
mod options;
mod record;
mod row_run;
mod scope_filter;
mod sorted;
mod spill;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod update_tests;

pub use from_archive::{load_archive, load_archive_with};
pub use loader::Loader;
pub use options::{LoadOptions, SORT_MEMORY_BYTES_MIN};
pub use sorted::{Base, Counts, Loaded};

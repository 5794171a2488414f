//! Reads snapshot archives of validators as a stream: a compressed tar of AppendVec files with one
//! manifest. Nothing is unpacked to disk, and memory holds at most one account.

mod append_vec;
mod decompress;
mod limits;
mod manifest;
mod name;
mod read;
mod source;
mod sparse;
mod tar;
mod tar_fields;
mod window;

#[cfg(test)]
pub(crate) mod tests;

pub use append_vec::Entry;
pub use limits::ArchiveLimits;
pub use manifest::Manifest;
pub use name::{ArchiveKind, ArchiveName, Compression};
pub use read::{ArchiveEnd, read_archive};
pub use source::{READ_BYTES, Source, SourceOptions, open_source, system_authorities};

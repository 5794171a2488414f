//! The source of an archive: a file, or a server that may redirect, stall and disconnect.

mod connect;
mod failure;
mod http;
mod open;
mod options;
#[cfg(test)]
mod tests;

pub use connect::{READ_BYTES, system_authorities};
pub use open::open_source;
pub use options::{Source, SourceOptions};

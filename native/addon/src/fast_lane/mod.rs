//! The fast lane, for JavaScript and for the compiled server.

pub mod cells;
pub mod direct_reads;
pub mod lane;

//! The limits of accesses, for JavaScript.

pub mod access;
mod numbers;
mod table;

//! Copies a store while blocks are applied to it.

pub(crate) mod bounds;
mod follow;
mod ranges;
pub(crate) mod steps;
mod written;

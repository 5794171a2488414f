//! Converts protocol messages to [`Update`]s and checks the length of every fixed-length field.

mod cost;
#[cfg(test)]
mod cost_tests;
mod fields;
mod message;
#[cfg(test)]
mod part_tests;
mod taken;
mod transaction;

pub use message::{Message, translate};
pub use taken::Taken;

#[cfg(test)]
mod tests;

//! The fast lane: turns the bytes of a single point read in canonical form into the bytes of its
//! reply. It never writes an error. It leaves unrecognised requests to the general path, which
//! writes the same bytes by the same reads.

mod answer;
mod cursor;
mod method;
mod recent;
mod request;

pub use answer::{Blockhashes, answer, answer_method};
pub use method::{METHODS, Method};
pub use recent::Recent;

#[cfg(test)]
mod tests;

//! Long messages: takes the lists of addresses out of a message, so that what is left is small
//! enough to be parsed on the event loop.

mod pack;
mod scan;

pub use pack::{AddressList, Limits, Packed, Refusal, pack};

#[cfg(test)]
mod tests;
